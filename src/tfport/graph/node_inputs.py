"""The inputs of a new node: plain numbers become typed arrays, and types and counts become attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import MalformedGraph
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, STRING, DType
from tfport.graph.graph import Node, Value
from tfport.graph.op_signature import Arg, OpSignature

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

OperandLike = Any
"""A value, a node, a number, an array, or a list of such."""


def node_inputs(
    signature: OpSignature,
    inputs: list[OperandLike],
    attrs: dict[str, Attr],
    constant: Callable[[Any, DType | None], Value],
) -> list[Value]:
    """The inputs as values; attributes that follow from them are added to `attrs`.

    `constant` adds a constant for a plain number, of this type if it is known.
    """
    groups = list(_grouped(signature, inputs, attrs))
    for arg, group in groups:
        _decide(arg, [_typed(operand) for operand in group], attrs)
    values: list[Value] = []
    for arg, group in groups:
        for index, operand in enumerate(group):
            if isinstance(operand, Node):
                values.append(operand.output(0))
            elif isinstance(operand, Value):
                values.append(operand)
            else:
                dtype = arg.type_at(index, {**signature.defaults, **attrs})
                values.append(constant(operand, dtype if dtype.number else None))
        if arg.type_attr and group and arg.type_attr not in signature.defaults:
            attrs.setdefault(arg.type_attr, values[-1].dtype.base)
    return values


def _grouped(
    signature: OpSignature, inputs: list[OperandLike], attrs: dict[str, Attr]
) -> Iterator[tuple[Arg, list[OperandLike]]]:
    """The inputs by argument: one entry per argument, or a flat list whose lengths the attributes tell."""
    by_argument = len(inputs) == len(signature.inputs) and all(
        isinstance(operand, list | tuple) or not arg.is_list
        for arg, operand in zip(signature.inputs, inputs, strict=True)
    )
    rest = list(inputs)
    for arg in signature.inputs:
        if by_argument:
            first = rest.pop(0)
            yield arg, list(first) if arg.is_list else [first]
        else:
            count = arg.count({**signature.defaults, **attrs})
            yield arg, rest[:count]
            rest = rest[count:]
    if rest:
        raise MalformedGraph(f"{signature.name} got {len(inputs)} inputs, {len(rest)} too many")


def _typed(operand: OperandLike) -> DType | None:
    """The dtype of a node or value; None for a plain number."""
    value = operand.output(0) if isinstance(operand, Node) else operand
    return value.dtype.base if isinstance(value, Value) else None


def _decide(arg: Arg, types: list[DType | None], attrs: dict[str, Attr]) -> None:
    if arg.list_attr:
        attrs.setdefault(arg.list_attr, [dtype or FLOAT32 for dtype in types])
    if arg.number_attr:
        attrs.setdefault(arg.number_attr, len(types))
    if arg.type_attr and (known := next((dtype for dtype in types if dtype is not None), None)):
        attrs.setdefault(arg.type_attr, known)


def attr_value(value: Any, kind: str) -> Attr:
    """An attribute as graphs store it; accepts dtypes by name, and tuples for lists."""
    if isinstance(value, tuple | list):
        return [attr_value(element, kind.removeprefix("list(").removesuffix(")")) for element in value]
    return DType.parse(value) if kind == "type" and isinstance(value, str) else value


def type_of(value: ArrayLike) -> DType:
    dtype = np.asarray(value).dtype
    if isinstance(value, np.ndarray | np.generic) and dtype.kind not in "OSU":
        return DType.parse(dtype.name)
    return {"b": BOOL, "i": INT32, "u": INT32, "f": FLOAT32}.get(dtype.kind, STRING)


def typed_array(value: ArrayLike, dtype: DType) -> NDArray[Any]:
    if dtype != STRING:
        with np.errstate(over="ignore", invalid="ignore"):  # a number that is too large becomes infinite
            return np.asarray(value, dtype.numpy)
    array = np.asarray(value, object)
    flat = [element if isinstance(element, bytes) else str(element).encode() for element in array.reshape(-1)]
    out = np.empty(len(flat), object)
    out[:] = flat
    return out.reshape(array.shape)
