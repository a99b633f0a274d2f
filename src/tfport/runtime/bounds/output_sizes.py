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
    params, indices = inputs[:2]
    axis = int(inputs[2]) if len(inputs) > 2 else 0
    return int(indices.size * (params.size // max(params.shape[axis], 1)))


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
    ("Gather GatherV2", _gathered),
    ("MatrixDiag Diag", _diagonal),
    ("MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3", _product),
    ("ResizeBilinear ResizeNearestNeighbor ResizeBicubic ResizeArea", _resized),
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
