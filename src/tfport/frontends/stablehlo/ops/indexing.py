"""Gather and scatter: slices at computed starts, as numbers of the rows of a tensor.

The axes behind the last one that is indexed are taken whole; the others are the rows of the tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from tfport.errors import CannotRun
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.frontends.stablehlo.constants import integers
from tfport.frontends.stablehlo.nodes import HloNodes, translates
from tfport.frontends.stablehlo.ops import xla
from tfport.frontends.stablehlo.ops.reductions import ASSIGNMENT, combination, known_computation
from tfport.frontends.stablehlo.ops.shapes import MOST_COUNTED
from tfport.frontends.stablehlo.ops.slices import index_as_int32
from tfport.frontends.stablehlo.tensor import HloTensor
from tfport.graph.building.arrays import reshape, transpose
from tfport.graph.building.sizes import Size, open_shape
from tfport.graph.dtypes import BOOL, INT32
from tfport.graph.graph import Value
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True)
class SliceAxes:
    """How slices lie in a tensor."""

    indexed: Sequence[int]
    """The axes of the tensor that each element of an index vector is for."""
    vector: int
    """The axis of the indices that is the index vector."""
    dropped: Sequence[int]
    """The axes of the tensor that slices do not have."""
    batching: Sequence[int] = ()
    indices_batching: Sequence[int] = ()
    """Axes of the tensor that are also axes of the indices."""


class SlicePositions:
    """The starts of slices, as int32 tensors over the axes of the indices but the index vector."""

    def __init__(self, op: HloNodes, dims: list[Size], indices: HloTensor, axes: SliceAxes) -> None:
        self.op, self.dims, self.axes = op, dims, axes
        rank = indices.rank
        vector = axes.vector
        numbers = index_as_int32(op, indices.value)
        if vector == rank:
            parts = [numbers]
            self.batch_dims = indices.dims
        else:
            parts = op.Unpack(numbers, num=len(axes.indexed), axis=vector).outputs if axes.indexed else []
            self.batch_dims = tuple(n for index, n in enumerate(indices.dims) if index != vector)
        whole = op.sizes.of(numbers, rank)
        self.batch: list[Size] = [size for index, size in enumerate(whole) if index != vector]
        self.starts: dict[int, Value] = dict(zip(axes.indexed, parts, strict=True))
        for axis, of in zip(axes.batching, axes.indices_batching, strict=True):
            index = of - (of > vector)
            column = [-1 if at == index else 1 for at in range(len(self.batch))]
            counted = op.Reshape(op.Range(0, self.batch[index], 1), op.const(column, INT32))
            self.starts[axis] = counted.output(0)

    @property
    def window(self) -> list[int]:
        """The axes of the tensor that slices have."""
        left_out = (*self.axes.dropped, *self.axes.batching)
        return [axis for axis in range(len(self.dims)) if axis not in left_out]

    def rows(self, sizes: Sequence[Size]) -> int:
        """The number of leading axes that are rows: the axes behind are whole in each slice."""
        last = 0
        for axis, (part, whole) in enumerate(zip(sizes, self.dims, strict=True)):
            is_whole = isinstance(part, int) and part == whole
            if not is_whole or axis in self.starts or axis not in self.window:
                last = axis + 1
        return last

    def clamped(self, sizes: Sequence[Size]) -> None:
        """Move the slices into the tensor."""
        for axis in self.axes.indexed:
            room = self.op.sizes.sub(self.dims[axis], sizes[axis])
            if isinstance(room, int) and room < 0:
                raise CannotRun(f"a slice of {sizes[axis]} does not fit an axis of {self.dims[axis]}")
            start = self.op.Minimum(self.op.Maximum(self.starts[axis], 0), room)
            self.starts[axis] = start.output(0)

    def inside(self, sizes: Sequence[Size]) -> Value:
        """Whether each slice lies inside the tensor."""
        checks = []
        for axis in self.axes.indexed:
            room = self.op.sizes.sub(self.dims[axis], sizes[axis])
            start = self.starts[axis]
            checks += [self.op.GreaterEqual(start, 0), self.op.LessEqual(start, room)]
        if not checks:
            return self.op.const(True)
        return reduce(lambda a, b: self.op.LogicalAnd(a, b), checks).output(0)

    def numbers(self, sizes: Sequence[Size], rows: int) -> Any:
        """The row of each element: over (batch…, window axes that are rows…)."""
        op = self.op
        steps = [axis for axis in self.window if axis < rows]
        shape = len(self.batch) + len(steps)
        total: Any = None
        stride: Size = 1
        for axis in reversed(range(rows)):
            if axis in self.starts:
                start = (
                    op.Reshape(self.starts[axis], self._column(axis, shape)) if steps else self.starts[axis]
                )
                total = self._sum(total, self._times(start, stride))
            if axis in steps:
                column = [1] * shape
                column[len(self.batch) + steps.index(axis)] = -1
                size = sizes[axis]
                if isinstance(size, int) and size <= MOST_COUNTED:
                    line: Any = op.const(np.arange(size, dtype=np.int32).reshape(column))
                else:
                    line = op.Reshape(op.Range(0, size, 1), op.const(column, INT32))
                if size != 1:
                    total = self._sum(total, self._times(line, stride))
            stride = op.sizes.mul(stride, self.dims[axis])
        if total is None:
            total = op.const(0, INT32)
        return (
            op.BroadcastTo(
                total,
                op.sizes.vector([*self.batch, *(sizes[axis] for axis in steps)])
                if shape
                else op.const([], INT32),
            )
            if shape
            else total
        )

    def _column(self, axis: int, shape: int) -> Any:
        """The shape of a start, with an axis of size 1 for each of the window."""
        more = shape - len(self.batch)
        if axis in self.axes.batching:
            index = self.axes.indices_batching[list(self.axes.batching).index(axis)]
            index -= index > self.axes.vector
            return self.op.const([-1 if at == index else 1 for at in range(shape)], INT32)
        return open_shape(self.op, [*self.batch, *[1] * more])

    def _times(self, x: Any, stride: Size) -> Any:
        return x if stride == 1 else self.op.Mul(x, stride)

    def _sum(self, total: Any, x: Any) -> Any:
        return x if total is None else self.op.AddV2(total, x)


@translates("gather")
def gather(op: HloNodes, hlo: HloOp, x: HloTensor, indices: HloTensor) -> HloTensor:
    return _gathered(op, hlo, x, indices, integers(hlo.attrs["slice_sizes"]))


@translates("dynamic_gather")
def dynamic_gather(op: HloNodes, hlo: HloOp, x: HloTensor, indices: HloTensor, sizes: HloTensor) -> HloTensor:
    if sizes.array is not None:
        return _gathered(op, hlo, x, indices, integers(sizes.array))
    parts = op.Unpack(op.whole_number(sizes), num=x.rank, axis=0).outputs
    return _gathered(op, hlo, x, indices, list(parts))


def _gathered(op: HloNodes, hlo: HloOp, x: HloTensor, indices: HloTensor, sizes: Sequence[Size]) -> HloTensor:
    attrs = hlo.attrs
    axes = SliceAxes(
        indexed=integers(attrs["start_index_map"]),
        vector=int(attrs["index_vector_dim"]),
        dropped=integers(attrs["collapsed_slice_dims"]),
        batching=integers(attrs.get("operand_batching_dims", [])),
        indices_batching=integers(attrs.get("start_indices_batching_dims", [])),
    )
    dims = op.dims_of(x)
    positions = SlicePositions(op, dims, indices, axes)
    positions.clamped(sizes)
    out = hlo.types[0].shape
    offsets = integers(attrs["offset_dims"])
    window = positions.window
    if not positions.batch:
        return _one_slice(op, x, positions, sizes, out)
    if len(offsets) != len(window):
        raise CannotRun("stablehlo.gather has offset_dims that do not match its slices")
    rows = positions.rows(sizes)
    count = op.sizes.product(dims[:rows])
    flat = reshape(op, x, [count, *dims[rows:]]) if rows != 1 else x
    gathered = op.GatherV2(flat, positions.numbers(sizes, rows), 0).output(0)
    # the axes are now those of the indices, then those of the slices
    batch = [axis for axis in range(len(out)) if axis not in offsets]
    order = [*batch, *offsets]
    ordered = op.tensor(gathered, tuple(out[axis] for axis in order))
    return transpose(op, ordered, [order.index(axis) for axis in range(len(out))])


def _one_slice(
    op: HloNodes, x: HloTensor, positions: SlicePositions, sizes: Sequence[Size], out: tuple[int | None, ...]
) -> HloTensor:
    """A single slice; the axes that it drops have size 1."""
    starts: list[Size] = [positions.starts.get(axis, 0) for axis in range(x.rank)]
    part = op.Slice(x.value, op.sizes.vector(starts), op.sizes.vector(sizes)) if x.rank else x.value
    dropped = [axis for axis in range(x.rank) if axis not in positions.window]
    return op.tensor(op.Squeeze(part, squeeze_dims=dropped) if dropped else part, out)


SEGMENTS = {
    "add": "UnsortedSegmentSum", "multiply": "UnsortedSegmentProd", "maximum": "UnsortedSegmentMax",
    "minimum": "UnsortedSegmentMin",
}  # fmt: skip


@translates("scatter")
def scatter(op: HloNodes, hlo: HloOp, *operands: HloTensor, env: dict[int, Any]) -> HloTensor:
    if len(operands) != 3:
        raise CannotRun("stablehlo.scatter into several tensors has no translation")
    x, indices, updates = operands
    name = known_computation(hlo.regions[0])
    if name != ASSIGNMENT and (name not in SEGMENTS or x.dtype == BOOL or x.dtype.is_complex):
        if op.program.own_runtime:
            return xla.scattered(op, hlo, operands, env)
        raise CannotRun(f"stablehlo.scatter of {x.dtype} with this region has no translation")
    attrs = hlo.attrs
    axes = SliceAxes(
        indexed=integers(attrs["scatter_dims_to_operand_dims"]),
        vector=int(attrs["index_vector_dim"]),
        dropped=integers(attrs["inserted_window_dims"]),
        batching=integers(attrs.get("input_batching_dims", [])),
        indices_batching=integers(attrs.get("scatter_indices_batching_dims", [])),
    )
    dims = op.dims_of(x)
    positions = SlicePositions(op, dims, indices, axes)
    inner = integers(attrs["update_window_dims"])
    update_sizes = op.dims_of(updates)
    sizes: list[Size] = [1] * x.rank
    for axis, index in zip(positions.window, inner, strict=True):
        sizes[axis] = update_sizes[index]
    rows = positions.rows(sizes)
    count = op.sizes.product(dims[:rows])
    numbers = _row_numbers(op, positions, sizes, rows, count)
    order = [*(axis for axis in range(updates.rank) if axis not in inner), *inner]
    if None in x.dims[rows:]:
        raise CannotRun("stablehlo.scatter of slices of unknown size has no translation")
    flat = reshape(op, transpose(op, updates, order), [None, *dims[rows:]]).value
    tensor = reshape(op, x, [count, *dims[rows:]])
    tensor = op.tensor(tensor.value, (x.dims[0] if rows == 1 else None, *x.dims[rows:]))
    if name == ASSIGNMENT:
        scattered = _assigned(op, tensor, flat, numbers, count)
    else:
        scattered = _combined(op, hlo, tensor, flat, numbers, count, name, env)
    return op.tensor(reshape(op, scattered, dims).value, x.dims)


def _row_numbers(op: HloNodes, positions: SlicePositions, sizes: list[Size], rows: int, count: Size) -> Value:
    """The row of each update as a vector; of those outside the tensor, the row behind the last."""
    inside: Any = positions.inside(sizes)
    numbers: Any = positions.numbers(sizes, rows)
    steps = sum(axis < rows for axis in positions.window)
    if positions.batch and positions.axes.indexed:
        inside = op.Reshape(inside, open_shape(op, [*positions.batch, *[1] * steps])) if steps else inside
    spread = op.LogicalAnd(inside, op.Equal(numbers, numbers))
    kept = op.Select(spread, numbers, op.AddV2(op.ZerosLike(numbers), count))
    return op.Reshape(kept, op.const([-1], INT32)).output(0)


def _assigned(op: HloNodes, x: HloTensor, updates: Value, numbers: Value, count: Size) -> Value:
    """The last update of each row replaces it."""
    order = op.Range(0, op.Size(numbers), 1)
    last = op.UnsortedSegmentMax(order, numbers, op.sizes.add(count, 1))
    last = op.Slice(last, op.const([0], INT32), op.sizes.vector([count]))
    # one more row, so that there is always a row to gather
    zeros = op.ZerosLike(
        op.Slice(x.value, op.const([0] * x.rank, INT32), op.const([1, *(-1 for _ in x.dims[1:])], INT32))
    )
    rows = op.ConcatV2([updates, zeros], 0)
    replaced = op.GatherV2(rows, op.Maximum(last, 0), 0)
    is_replaced = op.Reshape(op.GreaterEqual(last, 0), op.const([-1, *(1 for _ in x.dims[1:])], INT32))
    mask = HloTensor(op, x.dims, BOOL, compact=is_replaced.output(0))
    return op.each("SelectV2", mask, op.tensor(replaced, x.dims), x).value


def _combined(
    op: HloNodes, hlo: HloOp, x: HloTensor, updates: Value, numbers: Value, count: Size, name: str, env: Any
) -> Value:
    """The updates of each row are combined, and then with the row."""
    whole = op.sizes.add(count, 1)
    sums = op.node(SEGMENTS[name], updates, numbers, whole)
    ends = op.sizes.vector([count, *(-1 for _ in x.dims[1:])])
    summed = op.tensor(op.Slice(sums, op.const([0] * x.rank, INT32), ends), x.dims)
    (combined,) = combination(op, hlo.regions[0], env)([x], [summed])
    if name in ("add", "multiply"):
        return combined.value
    # a row without updates stays, also if it is below the lowest finite number
    counts = op.UnsortedSegmentSum(op.OnesLike(numbers), numbers, whole)
    counts = op.Slice(counts, op.const([0], INT32), op.sizes.vector([count]))
    is_updated = op.Reshape(op.Greater(counts, 0), op.const([-1, *(1 for _ in x.dims[1:])], INT32))
    mask = HloTensor(op, x.dims, BOOL, compact=is_updated.output(0))
    return op.each("SelectV2", mask, combined, x).value
