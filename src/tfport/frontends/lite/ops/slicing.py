"""Parts of tensors."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value


@builtin("SLICE", any_type=True)
def slice_(b: OperatorBuilder, x: LiteValue, begin: LiteValue, size: LiteValue) -> Node:
    return b.Slice(x, begin, size)


@builtin("STRIDED_SLICE", any_type=True)
def strided_slice(
    b: OperatorBuilder,
    x: LiteValue,
    begin: LiteValue,
    end: LiteValue,
    strides: LiteValue,
    *,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    offset: bool = False,
) -> Node:
    """With `offset`, the ends are sizes: counted from where each axis begins."""
    return b.StridedSlice(
        x,
        begin,
        b.Add(begin, end) if offset else end,
        strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    )


@builtin("SPLIT", any_type=True)
def split(b: OperatorBuilder, axis: LiteValue, x: LiteValue, *, num_splits: int) -> list[Value]:
    if axis.array is None:
        scalar = b.Reshape(axis, b.constant([], INT32))
        return _outputs(b, b.Split(scalar, x, num_split=num_splits))
    return _outputs(b, b.Split(int(axis.array.reshape(-1)[0]), x, num_split=num_splits))


@builtin("SPLIT_V", any_type=True)
def split_v(
    b: OperatorBuilder, x: LiteValue, sizes: LiteValue, axis: LiteValue, *, num_splits: int
) -> list[Value]:
    scalar = b.Reshape(axis, b.constant([], INT32))
    return _outputs(b, b.SplitV(x, sizes, scalar, num_split=num_splits))


@builtin("UNPACK", any_type=True)
def unpack(b: OperatorBuilder, x: LiteValue, *, num: int = 0, axis: int = 0) -> list[Value]:
    return _outputs(b, b.Unpack(x, num=num, axis=axis))


def _outputs(b: OperatorBuilder, node: Node) -> list[Value]:
    return [node.output(place) for place in range(len(b.operator.outputs))]
