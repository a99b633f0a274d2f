"""Bits and signs of numbers."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node


@builtin("SIGN")
def sign(b: OperatorBuilder, x: LiteValue) -> Node:
    """Zero for what is not a number, unlike TensorFlow's."""
    if not x.dtype.is_floating:
        return b.Sign(x)
    return b.Sub(b.cast(b.Greater(x, 0), x.dtype), b.cast(b.Less(x, 0), x.dtype))


@builtin("BITWISE_XOR", any_type=True)
def bitwise_xor(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Node:
    return b.BitwiseXor(x, y)


@builtin("RIGHT_SHIFT", any_type=True)
def right_shift(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Node:
    return b.RightShift(x, y)
