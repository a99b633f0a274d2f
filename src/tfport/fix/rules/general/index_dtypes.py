"""Cast int64 sizes, axes and indices to int32, which older kernels require.

`rules.general.dtypes` handles other dtypes and other numbers, and checks whether they fit.
"""

from __future__ import annotations

import numpy as np

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import arguments, cast
from tfport.fix.rule import EXACT, OtherProblem, Replacement, refuse, rule
from tfport.graph.dtypes import INT32, INT64
from tfport.graph.graph import Node, Value

LEAST, MOST = -(2**31), 2**31 - 1
INPUTS: dict[str, tuple[int, ...]] = {
    op: places
    for names, places in {
        "Tile Transpose ConjugateTranspose ExpandDims ReverseV2 MirrorPad Pad PadV2 BroadcastTo": (1,),
        "Sum Prod Max Min Mean Any All EuclideanNorm Cumsum Cumprod CumulativeLogsumexp SplitV Reshape": (1,),
        "Gather GatherNd TensorScatterUpdate TensorScatterAdd TensorScatterSub": (1,),
        "TensorScatterMax TensorScatterMin SegmentSum SegmentMean SegmentMax SegmentMin SegmentProd": (1,),
        "UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd Slice GatherV2": (1, 2),
        "SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN": (1, 2),
        "StridedSlice": (1, 2, 3),
        "Fill": (0,),
        "ScatterNd": (0, 2),
        "LinSpace": (2,),
        "ConcatV2": (-1,),
    }.items()
    for op in names.split()
}
"""The inputs of an op that are sizes, axes or indices; numbers beyond int32 are clipped."""


@rule(" ".join(INPUTS), keeps=EXACT)
def places_in_int32(op: NodeBuilder, n: Node) -> Replacement:
    """Sizes, axes and indices are the same numbers in int32."""
    wanted = {place % len(n.inputs) for place in INPUTS[n.op]}
    if not any(n.inputs[place].dtype.base == INT64 for place in wanted):
        return OtherProblem("its sizes, axes and indices are not int64")
    inputs = [_narrowed(op, v) if place in wanted else v for place, v in enumerate(n.inputs)]
    decided = {arg.type_attr for place, arg in arguments(n) if place in wanted}
    return op.node(n.op, *inputs, **{k: v for k, v in n.attrs.items() if k not in decided})


def _narrowed(op: NodeBuilder, value: Value) -> Value | Node:
    """The same numbers in int32; a number beyond int32 is clipped, and stays out of range."""
    if value.dtype.base != INT64:
        return value
    known = op.constant(value)
    if known is not None:
        return op.const(np.clip(known, LEAST, MOST), INT32)
    return op.Cast(op.Minimum(op.Maximum(value, LEAST), MOST), DstT=INT32)


@rule("BroadcastArgs BroadcastGradientArgs", keeps=EXACT)
def shapes_in_int32(op: NodeBuilder, n: Node) -> Replacement:
    """The shapes are cast to int32, and the result back to int64."""
    if n.inputs[0].dtype.base == INT32:
        return refuse("its shapes are int32")
    made = op.node(n.op, *[cast(op, value, INT32) for value in n.inputs])
    return [cast(op, made.output(value.index), INT64) for value in n.outputs]
