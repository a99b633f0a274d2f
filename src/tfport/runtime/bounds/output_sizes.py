"""How large the output of an op will be, for ops whose outputs can be much larger than their inputs.

The number of elements follows from the values or shapes of the inputs, so a run that may not use so much
memory fails before it is allocated, and a huge constant is not computed while planning. Other ops are
counted after they ran.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.program import Run

Attrs = Mapping[str, Attr]
Elements = Callable[[Sequence[Any], Attrs], int]
"""The number of elements of the first output, from the inputs and attributes."""
POINTER = 8
"""Bytes per element that is not a number: a string, or an element of a list."""


def _shape_in(index: int) -> Elements:
    """The shape of the output is this input."""
    return lambda inputs, attrs: prod(max(size, 0) for size in inputs[index].reshape(-1).tolist())


def _count_in(index: int) -> Elements:
    """The number of elements is this input."""
    return lambda inputs, attrs: int(inputs[index])


def _tiled(inputs: Sequence[Any], attrs: Attrs) -> int:
    size: int = inputs[0].size
    return size * int(prod(max(times, 0) for times in inputs[1].reshape(-1).tolist()))


def _padded(inputs: Sequence[Any], attrs: Attrs) -> int:
    sizes = zip(inputs[0].shape, inputs[1].tolist(), strict=True)
    return prod(int(size + before + after) for size, (before, after) in sizes)


def _range(inputs: Sequence[Any], attrs: Attrs) -> int:
    start, limit, delta = (array.item() for array in inputs)
    return max(int((limit - start) / delta) + 1, 0) if delta else 0


def _one_hot(inputs: Sequence[Any], attrs: Attrs) -> int:
    return int(inputs[0].size) * max(int(inputs[1]), 0)


def _joined(inputs: Sequence[Any], attrs: Attrs) -> int:
    return sum(array.size for array in inputs)


def _broadcast(inputs: Sequence[Any], attrs: Attrs) -> int:
    shapes = {array.shape for array in inputs}
    return prod(next(iter(shapes)) if len(shapes) == 1 else np.broadcast_shapes(*shapes))


def _segments(inputs: Sequence[Any], attrs: Attrs) -> int:
    data, ids, count = inputs
    return max(int(count), 0) * int(prod(data.shape[ids.ndim :]))


def _gathered(inputs: Sequence[Any], attrs: Attrs) -> int:
    """Slices for each index, of the same batch."""
    params, indices = inputs[:2]
    batch = int(attrs.get("batch_dims") or 0)
    batch += indices.ndim if batch < 0 else 0
    axis = int(inputs[2]) if len(inputs) > 2 else batch
    axis += params.ndim if axis < 0 else 0
    slices = [*params.shape[batch:axis], *params.shape[axis + 1 :]]
    return int(indices.size * prod(slices))


def _gathered_slices(inputs: Sequence[Any], attrs: Attrs) -> int:
    params, indices = inputs
    depth = indices.shape[-1]
    return int(prod(indices.shape[:-1]) * prod(params.shape[depth:]))


def _stitched(inputs: Sequence[Any], attrs: Attrs) -> int:
    """The rows up to the largest index."""
    half = len(inputs) // 2
    indices, data = inputs[:half], inputs[half:]
    rows = max((int(array.max()) + 1 for array in indices if array.size), default=0)
    return rows * int(prod(data[0].shape[indices[0].ndim :]))


def _sorted_segments(inputs: Sequence[Any], attrs: Attrs) -> int:
    """A row for each segment up to the last."""
    data, ids = inputs[:2]
    return (int(ids.max(initial=-1)) + 1) * int(prod(data.shape[1:]))


ENDLESS = 2.0**62


def _ranges(inputs: Sequence[Any], attrs: Attrs) -> int:
    """The elements of all ranges; the kernel refuses one of NaN or with steps of zero."""
    starts, limits, deltas = (np.asarray(array, np.float64) for array in inputs)
    steps = np.ceil((limits - starts) / np.where(deltas == 0, np.nan, deltas))
    return int(np.nan_to_num(np.maximum(steps, 0), posinf=ENDLESS).sum())


def _cropped(inputs: Sequence[Any], attrs: Attrs) -> int:
    image, boxes, _, size = inputs
    return int(len(boxes) * prod(max(n, 0) for n in size.tolist()) * image.shape[-1])


def _projected(inputs: Sequence[Any], attrs: Attrs) -> int:
    images, _, size = inputs[:3]
    return int(len(images) * prod(max(n, 0) for n in size.tolist()) * images.shape[-1])


def _drawn_rows(inputs: Sequence[Any], attrs: Attrs) -> int:
    return len(inputs[0]) * max(int(inputs[1]), 0)


def _drawn_each(inputs: Sequence[Any], attrs: Attrs) -> int:
    return _shape_in(0)(inputs, attrs) * int(inputs[1].size)


def _padded_rows(inputs: Sequence[Any], attrs: Attrs) -> int:
    """All rows of a ragged tensor, as long as the longest, unless the shape is known."""
    shape, values, _, *partitions = inputs
    sizes: list[int] = []
    kinds: Any = attrs["row_partition_types"]
    for kind, partition in zip(kinds, partitions, strict=True):
        if kind == "FIRST_DIM_SIZE":
            sizes.append(int(partition))
        elif kind == "ROW_SPLITS":
            sizes += [] if sizes else [len(partition) - 1]
            sizes.append(int(np.diff(partition).max(initial=0)))
        else:
            sizes.append(int(np.unique(partition, return_counts=True)[1].max(initial=0)))
    known = shape.reshape(-1).tolist()
    dims = [*sizes, *values.shape[1:]]
    return prod(n if n >= 0 else size for n, size in zip(known or [-1] * len(dims), dims, strict=True))


def _diagonal(inputs: Sequence[Any], attrs: Attrs) -> int:
    return int(inputs[0].size) * int(inputs[0].shape[-1])


def _product(inputs: Sequence[Any], attrs: Attrs) -> int:
    a, b = inputs
    rows = a.shape[-1 if attrs.get("transpose_a") or attrs.get("adj_x") else -2]
    columns = b.shape[-2 if attrs.get("transpose_b") or attrs.get("adj_y") else -1]
    return int(prod(np.broadcast_shapes(a.shape[:-2], b.shape[:-2])) * rows * columns)


def _resized(inputs: Sequence[Any], attrs: Attrs) -> int:
    images, size = inputs[:2]
    return int(images.shape[0] * prod(max(n, 0) for n in size.tolist()) * images.shape[-1])


_RULES: list[tuple[str, Elements]] = [
    ("Fill Empty RandomUniform RandomStandardNormal TruncatedNormal RandomUniformInt StatelessRandomUniform "
     "StatelessRandomNormal StatelessTruncatedNormal StatelessRandomUniformInt StatelessRandomUniformFullInt "
     "StatelessRandomUniformV2 StatelessRandomNormalV2 StatelessTruncatedNormalV2 "
     "StatelessRandomUniformIntV2 StatelessRandomUniformFullIntV2", _shape_in(0)),
    ("Conv2DBackpropInput Conv3DBackpropInputV2 DepthwiseConv2dNativeBackpropInput", _shape_in(0)),
    ("BroadcastTo SparseToDense", _shape_in(1)),
    ("ScatterNd", _shape_in(2)),
    ("Bincount DenseBincount TensorListReserve TensorListResize", _count_in(1)),
    ("LinSpace", _count_in(2)),
    ("Tile", _tiled),
    ("Pad PadV2 MirrorPad", _padded),
    ("Range", _range),
    ("OneHot", _one_hot),
    ("Concat ConcatV2 Pack", _joined),
    ("UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd", _segments),
    ("SegmentSum SegmentMean SegmentMax SegmentMin SegmentProd", _sorted_segments),
    ("Gather GatherV2 ResourceGather", _gathered),
    ("GatherNd ResourceGatherNd", _gathered_slices),
    ("DynamicStitch ParallelDynamicStitch", _stitched),
    ("RaggedRange", _ranges),
    ("RaggedTensorToTensor", _padded_rows),
    ("Multinomial", _drawn_rows),
    ("RandomGamma RandomPoisson RandomPoissonV2", _drawn_each),
    ("CropAndResize", _cropped),
    ("ImageProjectiveTransformV2 ImageProjectiveTransformV3", _projected),
    ("MatrixDiag Diag", _diagonal),
    ("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3", _product),
    ("ResizeBilinear ResizeNearestNeighbor ResizeBicubic ResizeArea ScaleAndTranslate", _resized),
    ("Add AddV2 Sub Mul MulNoNan Div RealDiv DivNoNan FloorDiv TruncateDiv FloorMod Mod TruncateMod Pow "
     "Maximum Minimum SquaredDifference Atan2 Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd "
     "LogicalOr BitwiseAnd BitwiseOr BitwiseXor LeftShift RightShift SelectV2", _broadcast),
]  # fmt: skip
OUTPUT_ELEMENTS = {op: rule for ops, rule in _RULES for op in ops.split()}


def output_bytes(op: str, inputs: Sequence[Any], attrs: Attrs, types: Sequence[DType]) -> int:
    """The size of what an op is about to compute; 0 if only its kernel knows, or reports an error."""
    rule = OUTPUT_ELEMENTS.get(op)
    if rule is None or not types:
        return 0
    try:
        elements = rule(inputs, attrs)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return 0  # inputs that do not fit: the kernel says how
    item = POINTER if types[0].name in ("string", "variant", "resource") else types[0].numpy.itemsize
    return elements * item


def with_checked_size(run: Run, name: str, op: str, attrs: Attrs, types: Sequence[DType]) -> Run:
    """The same function, which fails before it allocates more than its run may use."""
    if op not in OUTPUT_ELEMENTS:
        return run

    def checked(inputs: Sequence[Any]) -> Sequence[Any]:
        scope = current_scope()
        if scope is not None and scope.max_bytes:
            scope.reserve(output_bytes(op, inputs, attrs, types), name)
        return run(inputs)

    return checked
