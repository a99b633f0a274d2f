"""Do the attributes of a node match the definition of its op? In TensorFlow's order (ValidateNodeDef)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.attrs import Attr, FunctionRef, Placeholder, decode
from tfport.graph.dtypes import DType
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor
from tfport.registry.unresolved import Question, Unresolved
from tfport.startup.dataclass import replace

_KINDS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str | bytes),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, float),
    "bool": lambda value: isinstance(value, bool),
    "type": lambda value: isinstance(value, DType),
    "shape": lambda value: isinstance(value, Shape),
    "tensor": lambda value: isinstance(value, Tensor),
    "func": lambda value: isinstance(value, FunctionRef),
}


def unresolved_attributes(attrs: Mapping[str, Attr], definition: OpDef) -> Iterator[Unresolved]:
    """Everything in the attributes that the definition does not allow."""
    declared = {attr.name: attr for attr in definition.attr}
    structural = {
        name
        for arg in (*definition.input_arg, *definition.output_arg)
        for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)
    }
    for name, value in sorted(attrs.items()):
        if name.startswith("_") or isinstance(value, Placeholder):
            continue
        if name not in declared:
            yield Unresolved(Question.UNKNOWN_ATTR, name, value)
        elif answer := _unresolved(declared[name], value):
            unbuildable = answer.question is Question.ATTR_TYPE or _is_negative(value)
            yield replace(answer, structural=name in structural and unbuildable)
    for name, attr in declared.items():
        if name not in attrs and not attr.HasField("default_value"):
            yield Unresolved(Question.MISSING_ATTR, name, expected=attr.type)


def _is_negative(value: Attr) -> bool:
    return isinstance(value, int) and value < 0


def _unresolved(attr: OpDef.AttrDef, value: Attr) -> Unresolved | None:
    if value is None:  # to TensorFlow an attribute without a value is absent
        missing = not attr.HasField("default_value")
        return Unresolved(Question.MISSING_ATTR, attr.name, expected=attr.type) if missing else None
    if not _is(attr.type, value):
        return Unresolved(Question.ATTR_TYPE, attr.name, kind_of(value), attr.type)
    size = len(value) if isinstance(value, list) else value
    if attr.has_minimum and isinstance(size, int) and size < attr.minimum:
        return Unresolved(Question.ATTR_MINIMUM, attr.name, value, attr.minimum)
    if attr.HasField("allowed_values"):
        allowed = decode(attr.allowed_values)
        for item in value if isinstance(value, list) else [value]:
            if item not in allowed:
                return Unresolved(Question.ATTR_VALUE, attr.name, item, tuple(allowed))
    return None


def _is(kind: str, value: Attr) -> bool:
    if kind.startswith("list("):
        fits = _KINDS.get(kind[5:-1])
        return isinstance(value, list) and (not value or (fits is not None and all(map(fits, value))))
    return kind in _KINDS and _KINDS[kind](value)


def kind_of(value: Attr) -> str:
    """TensorFlow's name for the type of an attribute: `int`, `list(type)`."""
    if isinstance(value, list):
        return f"list({kind_of(value[0])})" if value else "list"
    return next((name for name, fits in _KINDS.items() if fits(value)), "none")
