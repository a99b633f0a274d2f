"""The types that operations of Keras 3 compute in when their operands have different types."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, DType

_SIGNED = ("int8", "int16", "int32", "int64")


def common_type(first: DType, second: DType) -> DType:
    """The type that holds both: floating-point over integers over booleans, wider over narrower."""
    if first == second or second == BOOL:
        return first
    if first == BOOL:
        return second
    if first.is_floating != second.is_floating:
        return first if first.is_floating else second
    if first.is_floating:
        if {str(first), str(second)} == {"float16", "bfloat16"}:
            return FLOAT32
        return first if first.numpy.itemsize > second.numpy.itemsize else second
    return _common_integer(str(first), str(second))


def _common_integer(first: str, second: str) -> DType:
    widths = {name: int(name.lstrip("uint")) for name in (first, second)}
    if first.startswith("u") == second.startswith("u"):
        return DType.parse(first if widths[first] > widths[second] else second)
    unsigned, signed = (first, second) if first.startswith("u") else (second, first)
    fits = (name for name in _SIGNED if int(name[3:]) > widths[unsigned] and int(name[3:]) >= widths[signed])
    return next((DType.parse(name) for name in fits), FLOAT32)


def promoted(b: LayerBuilder, *operands: Any, floating: bool = False) -> list[LayerTensor]:
    """Operands as tensors of one type; plain numbers do not widen the type of tensors.

    `floating` makes it a floating-point type, as division and exponentials need.
    """
    dtype: DType | None = None
    for operand in operands:
        if isinstance(operand, LayerTensor):
            dtype = operand.dtype if dtype is None else common_type(dtype, operand.dtype)
    for operand in operands:
        if not isinstance(operand, LayerTensor):
            dtype = _with_number(dtype, operand)
    assert dtype is not None
    if floating and not dtype.is_floating and not dtype.is_complex:
        dtype = FLOAT32
    return [
        b.cast(operand, dtype) if isinstance(operand, LayerTensor) else b.constant(operand, dtype)
        for operand in operands
    ]


def tensors_of(b: LayerBuilder, *operands: Any) -> list[LayerTensor]:
    """Operands as tensors, each of its own type: plain numbers become int32 or float32."""
    return [operand if isinstance(operand, LayerTensor) else _constant(b, operand) for operand in operands]


def _constant(b: LayerBuilder, value: Any) -> LayerTensor:
    return b.constant(value, DType.parse(value.dtype.name) if isinstance(value, np.ndarray) else None)


def as_floating(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    """The tensor in a floating-point type: its own, or float32."""
    return x if x.dtype.is_floating or x.dtype.is_complex else b.cast(x, FLOAT32)


def _with_number(common: DType | None, number: Any) -> DType:
    """The type of tensors of a kind and a plain number, or an array with a type of its own."""
    if isinstance(number, np.ndarray):
        dtype = DType.parse(number.dtype.name)
        return dtype if common is None else common_type(common, dtype)
    array = np.asarray(number)
    if array.dtype.kind == "f":
        return common if common is not None and common.is_floating else FLOAT32
    if array.dtype.kind in "iu":
        return INT32 if common is None or common == BOOL else common
    return BOOL if common is None else common
