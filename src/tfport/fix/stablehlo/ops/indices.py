"""Positions of slices in a tensor, as numbers of its rows: for gather and scatter.

The axes behind the last one that is indexed are taken whole; the others are the rows of the tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from tfport.fix.nodes.sizes import Size
from tfport.fix.rule import refuse
from tfport.fix.stablehlo.nodes import HloNodes
from tfport.fix.stablehlo.ops.slices import index_as_int32
from tfport.fix.stablehlo.tensor import HloTensor
from tfport.graph.dtypes import INT32
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
            self.batch_dims = tuple(n for place, n in enumerate(indices.dims) if place != vector)
        whole = op.sizes.of(numbers, rank)
        self.batch: list[Size] = [size for place, size in enumerate(whole) if place != vector]
        self.starts: dict[int, Value] = dict(zip(axes.indexed, parts, strict=True))
        for axis, of in zip(axes.batching, axes.indices_batching, strict=True):
            place = of - (of > vector)
            column = [-1 if at == place else 1 for at in range(len(self.batch))]
            counted = op.Reshape(op.Range(0, self.batch[place], 1), op.const(column, INT32))
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
                raise refuse(f"a slice of {sizes[axis]} does not fit an axis of {self.dims[axis]}")
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
                if isinstance(size, int):
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
            place = self.axes.indices_batching[list(self.axes.batching).index(axis)]
            place -= place > self.axes.vector
            return self.op.const([-1 if at == place else 1 for at in range(shape)], INT32)
        return self.op.vector([*self.batch, *[1] * more])

    def _times(self, x: Any, stride: Size) -> Any:
        return x if stride == 1 else self.op.Mul(x, stride)

    def _sum(self, total: Any, x: Any) -> Any:
        return x if total is None else self.op.AddV2(total, x)
