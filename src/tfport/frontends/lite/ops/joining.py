"""Tensors put together."""

from __future__ import annotations

from tfport.frontends.lite.activations import activate
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node, Value


@builtin("CONCATENATION")
def concatenation(
    b: OperatorBuilder, *values: LiteValue, axis: int = 0, fused_activation_function: str = "NONE"
) -> Value:
    return activate(b, b.ConcatV2(list(values), axis), fused_activation_function)


@builtin("PACK", any_type=True)
def pack(b: OperatorBuilder, *values: LiteValue, values_count: int = 0, axis: int = 0) -> Node:
    return b.Pack(list(values), axis=axis)


@builtin("ADD_N")
def add_n(b: OperatorBuilder, *values: LiteValue) -> Node:
    return b.AddN(list(values))


@builtin("DYNAMIC_UPDATE_SLICE", any_type=True)
def dynamic_update_slice(b: OperatorBuilder, x: LiteValue, update: LiteValue, start: LiteValue) -> Node:
    """A start that leaves no room for the update is moved back."""
    return b.XlaDynamicUpdateSlice(x, update, start)
