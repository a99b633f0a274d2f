"""Reductions of windows: pooling, moving and cumulative sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.errors import CannotRun
from tfport.formats.stablehlo.vhlo import HloOp
from tfport.frontends.stablehlo.constants import integers
from tfport.frontends.stablehlo.nodes import HloNodes, translates
from tfport.frontends.stablehlo.ops.reductions import Combine, combination, is_neutral, known_computation
from tfport.frontends.stablehlo.ops.slices import padded
from tfport.frontends.stablehlo.tensor import HloTensor
from tfport.graph.building.arrays import slice_axis, transpose

MOST_SHIFTED = 8
"""Windows of more elements are combined from windows of half the size."""
CUMULATIVE = {"add": "Cumsum", "multiply": "Cumprod"}


@translates("reduce_window")
def reduce_window(op: HloNodes, hlo: HloOp, *operands: HloTensor, env: dict[int, Any]) -> list[HloTensor]:
    """Windows are folded axis by axis, since the region is associative and commutative."""
    half = len(operands) // 2
    inputs, starts = list(operands[:half]), operands[half:]
    sizes, strides, spread, rates = (
        integers(hlo.attrs[name])
        for name in ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    )
    pads = integers(hlo.attrs["padding"])
    low, high = pads[0::2], pads[1::2]
    name = known_computation(hlo.regions[0]) if half == 1 else ""
    dims = hlo.types[0].shape
    if (axis := _cumulative_axis(inputs[0], sizes, strides, spread, rates, low, high)) is not None:
        op_name = CUMULATIVE.get(name)
        if (
            op_name
            and is_neutral(name, starts[0])
            and inputs[0].dtype.is_floating | inputs[0].dtype.is_integer
        ):
            backward = high[axis] > 0
            return [op.tensor(op.node(op_name, inputs[0].value, axis, reverse=backward), dims)]
    interior = [n - 1 for n in spread]
    combine = combination(op, hlo.regions[0], env)
    if any(pads) or any(interior):
        wide = tuple(
            None if size is None else max(0, size + (size - 1) * inside if size else 0) + before + after
            for size, inside, before, after in zip(inputs[0].dims, interior, low, high, strict=True)
        )
        inputs = [
            op.tensor(padded(op, x, start.value, low, high, interior), wide)
            for x, start in zip(inputs, starts, strict=True)
        ]
    if (pooled := _max_pooled(op, name, inputs[0], sizes, strides, rates, dims)) is not None:
        results = [pooled]
    else:
        results = inputs
        for axis in range(len(sizes)):
            if sizes[axis] != 1 or strides[axis] != 1:
                results = _folded(op, results, axis, sizes[axis], strides[axis], rates[axis], combine)
        results = [op.tensor(x.value, dims) for x in results]
    return results if half == 1 and is_neutral(name, starts[0]) else combine(starts, results)


def _cumulative_axis(
    x: HloTensor, sizes: Any, strides: Any, spread: Any, rates: Any, low: Any, high: Any
) -> int | None:
    """The axis of a cumulative reduction: each window is as long as the axis, and begins or ends in it."""
    axes = [axis for axis, size in enumerate(sizes) if size != 1]
    if len(axes) != 1 or any(n != 1 for n in (*strides, *spread, *rates)):
        return None
    axis = axes[0]
    pads = low[axis], high[axis]
    others = [n for index in range(len(sizes)) if index != axis for n in (low[index], high[index])]
    if sizes[axis] != x.dims[axis] or any(others) or pads not in ((sizes[axis] - 1, 0), (0, sizes[axis] - 1)):
        return None
    return axis


def _folded(
    op: HloNodes, inputs: Sequence[HloTensor], axis: int, size: int, stride: int, rate: int, combine: Combine
) -> list[HloTensor]:
    """The windows along one axis."""
    if size == 0:
        raise CannotRun("stablehlo.reduce_window with an empty window has no translation")
    reach = (size - 1) * rate
    if size <= MOST_SHIFTED:
        folded = [_shifted(op, x, axis, 0, reach, stride) for x in inputs]
        for index in range(1, size):
            folded = combine(folded, [_shifted(op, x, axis, index * rate, reach, stride) for x in inputs])
        return folded
    powers, length = [list(inputs)], 1
    while length * 2 <= size:
        last = powers[-1]
        powers.append(
            combine(
                [_shifted(op, x, axis, 0, length * rate, 1) for x in last],
                [_shifted(op, x, axis, length * rate, length * rate, 1) for x in last],
            )
        )
        length *= 2
    result: list[HloTensor] | None = None
    done = 0
    for bit in reversed(range(len(powers))):
        if size >> bit & 1:
            rest = (size - done - (1 << bit)) * rate
            part = [_shifted(op, x, axis, done * rate, done * rate + rest, 1) for x in powers[bit]]
            result = part if result is None else combine(result, part)
            done += 1 << bit
    assert result is not None
    return [_shifted(op, x, axis, 0, 0, stride) for x in result] if stride > 1 else result


def _shifted(op: HloNodes, x: HloTensor, axis: int, start: int, reach: int, stride: int) -> HloTensor:
    """Every `stride`-th element from `start` on; `reach` elements are left out in all."""
    if not reach and stride == 1:
        return x
    return slice_axis(op, x, axis, start, start - reach or None, stride)


def _max_pooled(
    op: HloNodes, name: str, x: HloTensor, sizes: Any, strides: Any, rates: Any, dims: Any
) -> HloTensor | None:
    """The maximum over windows of two axes of an image by MaxPool."""
    if name != "maximum" or x.rank != 4 or x.dtype.name != "float32" or any(n != 1 for n in rates):
        return None
    axes = [axis for axis in range(4) if sizes[axis] != 1 or strides[axis] != 1]
    if len(axes) != 2 or any(strides[axis] > sizes[axis] for axis in axes):
        return None
    order = [*(axis for axis in range(4) if axis not in axes)]
    order = [order[0], *axes, order[1]]
    image = transpose(op, x, order)
    window = {
        "ksize": [1, *(sizes[axis] for axis in axes), 1],
        "strides": [1, *(strides[axis] for axis in axes), 1],
    }
    out = tuple(dims[axis] for axis in order)
    pooled = op.tensor(op.MaxPool(image.value, **window, padding="VALID"), out)
    # the kernel ignores NaN and begins with the lowest finite number: 2 marks NaN, 0 the lowest number
    lowest, nan, zero, unit, two = (op.known(np.float32(n).reshape(())) for n in (-np.inf, np.nan, 0, 1, 2))
    mark = op.each("SelectV2", op.each("Equal", image, lowest), zero, unit)
    mark = op.each("SelectV2", op.each("IsNan", image), two, mark)
    marks = op.tensor(op.MaxPool(mark.value, **window, padding="VALID"), out)
    pooled = op.each("SelectV2", op.each("Equal", marks, zero), lowest, pooled)
    pooled = op.each("SelectV2", op.each("Equal", marks, two), nan, pooled)
    back = [order.index(axis) for axis in range(4)]
    return op.tensor(transpose(op, pooled, back).value, dims)
