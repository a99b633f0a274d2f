"""What is recorded about an attribute, an input or a type of elements that a message names."""

from __future__ import annotations

import re
from collections.abc import Callable

from tfport.atlas.atlas import atlas
from tfport.atlas.definition import arg_text, value_text
from tfport.atlas.history import op_history
from tfport.atlas.spans import STOCK, Span, on_x86, spans, spans_text
from tfport.atlas.target import Target
from tfport.check.explain.lookup import Meaning, MessageMatch, use
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr, decode
from tfport.graph.dtypes import INVALID, DType

NO_TYPE = "INVALID"
"""What messages call the type of an input that an op does not have."""


def releases_where(op: str, holds: Callable[[OpDef], bool]) -> tuple[Span, ...]:
    """The releases of TensorFlow whose own definition of an op is so."""
    having = {
        build.number
        for chapter in atlas().definitions(op)
        if not chapter.provider and chapter.definition is not None and holds(chapter.definition)
        for build in chapter.builds
    }
    return spans(on_x86(atlas(), STOCK), having)


def unknown_attribute(said: MessageMatch, target: Target | None) -> Meaning:
    op, attr = said.op, said.names["attr"]
    if op is None:
        return Meaning()
    released = releases_where(op, lambda definition: _attr(definition, attr) is not None)
    if not released:
        return Meaning([f"No recorded {op} of TensorFlow has an attribute {attr}."])
    default = _newest_default(op, attr)
    found = _value_in(said.text, attr)
    facts = [f"TensorFlow's {op} has it {spans_text(released)}{_default_text(default, found)}."]
    ways = [use(released)]
    if found is None or (default is not None and found == _as_said(default)):
        ways.insert(0, "export again with its defaults left out (`strip_default_attrs=True` in TF1)")
    return Meaning(facts, ways, on_target=_attr_on_target(op, attr, target))


def _attr(definition: OpDef, name: str) -> OpDef.AttrDef | None:
    return next((attr for attr in definition.attr if attr.name == name), None)


def _newest_default(op: str, attr: str) -> Attr | None:
    newest = op_history(atlas(), op)
    declared = _attr(newest.definition, attr) if newest else None
    if declared is None or not declared.HasField("default_value"):
        return None
    return decode(declared.default_value)


def _default_text(default: Attr | None, found: str | None) -> str:
    if default is None:
        return ""
    if found is None:
        return f"; its default is {value_text(default)}"
    return f"; here it is {found}, " + ("its default" if found == _as_said(default) else "not its default")


def _as_said(value: Attr) -> str:
    """A value as messages show it, without spaces."""
    return value_text(value, lambda dtype: dtype.tf).replace("'", '"').replace(" ", "")


def _value_in(text: str, attr: str) -> str | None:
    """The value of an attribute in the node that a message shows, without spaces."""
    node = text.partition("NodeDef:")[2]
    value = re.search(
        rf"[\[ ]{re.escape(attr)}=(\"[^\"]{{0,200}}\"|\[[^\]]{{0,400}}\]|[^,\](]{{1,100}})", node
    )
    return value[1].replace(" ", "") if value else None


def _attr_on_target(op: str, attr: str, target: Target | None) -> list[str]:
    if target is None:
        return []
    definition = target.registry.get(op)
    if definition is None:
        return [f"{target.name} does not register {op} at all"]
    has = "has" if _attr(definition, attr) is not None else "has no"
    return [f"{op} {has} attribute {attr} in {target.name}"]


def missing_attribute(said: MessageMatch, target: Target | None) -> Meaning:
    op, attr = said.op, said.names["attr"]
    if op is None:
        return Meaning()
    needed = releases_where(
        op, lambda d: (a := _attr(d, attr)) is not None and not a.HasField("default_value")
    )
    facts = [f"TensorFlow's {op} needs it {spans_text(needed)}."] if needed else []
    return Meaning(facts, on_target=_attr_on_target(op, attr, target))


def value_not_allowed(said: MessageMatch, target: Target | None) -> Meaning:
    op, attr = said.op, said.names["attr"]
    if op is None:
        return Meaning()
    wanted = _typed(said.names["value"])
    taking = releases_where(op, lambda definition: _takes(_attr(definition, attr), wanted))
    shown = value_text(wanted)
    if taking:
        facts = [f"TensorFlow's {op} takes {attr}={shown} {spans_text(taking)}."]
    else:
        facts = [f"No recorded {op} of TensorFlow takes {attr}={shown}."]
    return Meaning(facts, [use(taking)] if taking else [], _value_on_target(op, attr, wanted, target))


def _typed(text: str) -> Attr:
    """A value as a message shows it: a type where it is the name of one."""
    try:
        return DType.parse(text)
    except KeyError:
        return text


def _takes(attr: OpDef.AttrDef | None, value: Attr) -> bool:
    return attr is not None and (not attr.HasField("allowed_values") or value in decode(attr.allowed_values))


def _value_on_target(op: str, attr: str, value: Attr, target: Target | None) -> list[str]:
    definition = target.registry.get(op) if target else None
    if target is None or definition is None:
        return []
    takes = "takes" if _takes(_attr(definition, attr), value) else "does not take"
    return [f"{op} {takes} {attr}={value_text(value)} in {target.name}"]


def inputs_of_op(said: MessageMatch, target: Target | None) -> Meaning:
    """How the inputs of the op changed, where they did."""
    op, code = said.op, "TFP206" if said.names.get("wanted") == NO_TYPE else None
    if op is None:
        return Meaning(code=code)
    having: dict[str, set[int]] = {}
    for chapter in atlas().definitions(op):
        if chapter.definition is not None and not chapter.provider:
            takes = ", ".join(map(arg_text, chapter.definition.input_arg))
            having.setdefault(takes, set()).update(build.number for build in chapter.builds)
    stock = on_x86(atlas(), STOCK)
    facts = [f"{op}({takes}): {spans_text(spans(stock, having[takes]))}." for takes in having]
    return Meaning(facts if len(facts) > 1 else [], code=code)


def element_type(said: MessageMatch, target: Target | None) -> Meaning:
    number = said.names.get("number")
    dtype = DType.of(int(number)) if number is not None else INVALID
    if dtype == INVALID or dtype.name.startswith("type"):
        return Meaning()
    what = f"a reference to {dtype.base}, the memory of a TF1 variable" if dtype.is_ref else str(dtype)
    return Meaning([f"Number {number} is {what}."])
