"""Parts of tensors, and tensors put together."""

from __future__ import annotations

from tfport.graph.graph import Node
from tfport.lite.builder import OperatorBuilder
from tfport.lite.operator import builtin
from tfport.lite.tensor import LiteValue


@builtin("STRIDED_SLICE", any_type=True)
def strided_slice(
    b: OperatorBuilder,
    x: LiteValue,
    begin: LiteValue,
    end: LiteValue,
    strides: LiteValue,
    *,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Node:
    return b.StridedSlice(
        x,
        begin,
        end,
        strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    )


@builtin("PACK", any_type=True)
def pack(b: OperatorBuilder, *values: LiteValue, values_count: int, axis: int) -> Node:
    return b.Pack(list(values), axis=axis)
