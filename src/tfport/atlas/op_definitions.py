"""Op definitions as text: in the notation of TensorFlow's sources, and the changes between two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from google.protobuf.message import Message

from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.attrs import Attr, decode
from tfport.graph.dtypes import DType
from tfport.graph.text import attr_text

ArgDef = pb.OpDef.ArgDef
AttrDef = pb.OpDef.AttrDef

FLAGS = {  # field: its text, and the call in REGISTER_OP
    "is_stateful": ("stateful", "SetIsStateful"),
    "is_commutative": ("commutative", "SetIsCommutative"),
    "is_aggregate": ("an aggregate", "SetIsAggregate"),
    "allows_uninitialized_input": (
        "allowing uninitialized inputs",
        "SetAllowsUninitializedInput",
    ),
    "is_distributed_communication": ("communicating between machines", "SetIsDistributedCommunication"),
}


TypeName = Callable[[DType], str]
"""How to write a dtype: `str` for `float32`, `tf_name` for `float`."""


def tf_name(dtype: DType) -> str:
    """Return the name that TensorFlow's sources use."""
    return dtype.tf.removeprefix("DT_").lower()


def register_op(op: pb.OpDef) -> list[str]:
    """Return the definition as lines of a `REGISTER_OP`."""
    lines = [f'REGISTER_OP("{op.name}")']
    lines += [f'    .Input("{arg_text(arg, tf_name)}")' for arg in op.input_arg]
    lines += [f'    .Output("{arg_text(arg, tf_name)}")' for arg in op.output_arg]
    lines += [f'    .ControlOutput("{name}")' for name in op.control_output]
    lines += [f'    .Attr("{attr_def_text(attr, tf_name)}")' for attr in op.attr]
    lines += [f"    .{call}()" for field, (_, call) in FLAGS.items() if getattr(op, field)]
    if op.HasField("deprecation"):
        lines.append(f'    .Deprecated({op.deprecation.version}, "{op.deprecation.explanation}")')
    return lines


def arg_text(arg: ArgDef, types: TypeName = str) -> str:
    """`x: T`, `values: N * float32`, `indices: Ref(int32)`."""
    return f"{arg.name}: {arg_kind(arg, types)}"


def arg_kind(arg: ArgDef, types: TypeName = str) -> str:
    if arg.type_list_attr:
        return arg.type_list_attr
    kind = types(DType.of(arg.type)) if arg.type else arg.type_attr
    kind = f"Ref({kind})" if arg.is_ref else kind
    return f"{arg.number_attr} * {kind}" if arg.number_attr else kind


def attr_def_text(attr: AttrDef, types: TypeName = str) -> str:
    """`epsilon: float = 0.0001`, `T: {float16, float32}`."""
    kind = attr.type
    if attr.HasField("allowed_values"):
        inner = ", ".join(value_text(value, types) for value in decode(attr.allowed_values))
        kind = f"list({{{inner}}})" if kind.startswith("list(") else f"{{{inner}}}"
    at_least = f" >= {attr.minimum}" if attr.has_minimum else ""
    default = f" = {value_text(decode(attr.default_value), types)}" if attr.HasField("default_value") else ""
    return f"{attr.name}: {kind}{at_least}{default}"


def value_text(value: Attr, types: TypeName = str) -> str:
    """Format a value as in `REGISTER_OP`, with strings in single quotes."""
    match value:
        case DType():
            return types(value)
        case str():
            return f"'{value}'"
        case float():
            return f"{value:.7g}"  # the precision of the float32 in the file
        case list():
            return f"[{', '.join(value_text(element, types) for element in value)}]"
    return attr_text(value)


# What changed


def definition_changes(old: pb.OpDef, new: pb.OpDef) -> list[str]:
    """Return what changed in a newer definition, one sentence for each change.

    The order of attributes, and of their allowed values, does not matter.
    """
    return [
        *_changed_args("input", old.input_arg, new.input_arg),
        *_changed_args("output", old.output_arg, new.output_arg),
        *_changed_attrs(old, new),
        *_changed_flags(old, new),
        *_changed_rest(old, new),
    ]


def _changed_args(what: str, old: Sequence[ArgDef], new: Sequence[ArgDef]) -> Iterator[str]:
    if len(old) == len(new) and {a.name for a in old} != {a.name for a in new}:
        for before, now in zip(old, new, strict=True):
            if before.name != now.name:
                yield f"{what} {before.name} was renamed to {now.name}"
            yield from _changed_arg(what, before, now)
        return
    olds, news = {a.name: a for a in old}, {a.name: a for a in new}
    yield from (f"{what} {arg_text(news[name])} added" for name in news if name not in olds)
    yield from (f"{what} {name} removed" for name in olds if name not in news)
    for name in news:
        if name in olds:
            yield from _changed_arg(what, olds[name], news[name])
    if [n for n in olds if n in news] != [n for n in news if n in olds]:
        yield f"{what}s reordered: {', '.join(news)}"


def _changed_arg(what: str, old: ArgDef, new: ArgDef) -> Iterator[str]:
    if arg_kind(old) != arg_kind(new):
        yield f"{what} {new.name} is {arg_kind(new)}, was {arg_kind(old)}"
    for field, title in {"experimental_full_type": "full type", "handle_data": "handle data"}.items():
        if getattr(old, field) != getattr(new, field):
            yield f"{what} {new.name}: {title} {_change_of(old, new, field)}"


def _change_of(old: Message, new: Message, field: str) -> str:
    had, has = ({f.name for f, _ in message.ListFields()} for message in (old, new))
    return "changed" if field in had & has else "added" if field in has else "removed"


def _changed_attrs(old: pb.OpDef, new: pb.OpDef) -> Iterator[str]:
    olds, news = {a.name: a for a in old.attr}, {a.name: a for a in new.attr}
    yield from (f"attribute {attr_def_text(a)} added" for name, a in news.items() if name not in olds)
    yield from (f"attribute {name} removed" for name in olds if name not in news)
    for name in news:
        if name in olds:
            yield from _changed_attr(olds[name], news[name])


def _changed_attr(old: AttrDef, new: AttrDef) -> Iterator[str]:
    name = f"attribute {new.name}"
    if old.type != new.type:
        yield f"{name} is {new.type}, was {old.type}"
    if old.allowed_values != new.allowed_values:
        yield from (f"{name} {change}" for change in _changed_values(old, new))
    if old.default_value != new.default_value:
        yield f"{name} {_changed_default(old, new)}"
    if (old.has_minimum, old.minimum) != (new.has_minimum, new.minimum):
        before, now = (f"at least {a.minimum}" if a.has_minimum else "any number" for a in (old, new))
        yield f"{name} is {now}, was {before}"


def _changed_default(old: AttrDef, new: AttrDef) -> str:
    before, now = (value_text(decode(attr.default_value)) for attr in (old, new))
    if not old.HasField("default_value"):
        return f"now has a default: {now}"
    return f"defaults to {now}, was {before}" if new.HasField("default_value") else "no longer has a default"


def _changed_values(old: AttrDef, new: AttrDef) -> Iterator[str]:
    if not new.HasField("allowed_values"):
        yield "accepts any value"
        return
    now = [value_text(v) for v in decode(new.allowed_values)]
    if not old.HasField("allowed_values"):
        yield f"accepts only {', '.join(now)}"
        return
    before = [value_text(v) for v in decode(old.allowed_values)]
    if more := [v for v in now if v not in before]:
        yield f"also accepts {', '.join(more)}"
    if fewer := [v for v in before if v not in now]:
        yield f"no longer accepts {', '.join(fewer)}"


def _changed_flags(old: pb.OpDef, new: pb.OpDef) -> Iterator[str]:
    for field, (text, _) in FLAGS.items():
        if getattr(old, field) != getattr(new, field):
            yield f"is {text}" if getattr(new, field) else f"is no longer {text}"


def _changed_rest(old: pb.OpDef, new: pb.OpDef) -> Iterator[str]:
    if old.deprecation != new.deprecation:
        if new.HasField("deprecation"):
            since, why = new.deprecation.version, new.deprecation.explanation
            yield f"deprecated since GraphDef version {since}: {why}"
        else:
            yield "no longer deprecated"
    if list(old.control_output) != list(new.control_output):
        yield f"control outputs: {', '.join(new.control_output) or 'none'}"
