"""Find out that the pixels of an image are those of a smaller one, each repeated along the spatial axes.

Models enlarge images so in three ways: ResizeNearestNeighbor by a power of two; a new axis, Tile and
Reshape; Split into single rows and ConcatV2 of each row several times. That the sizes fit is proven with
expressions of the unknown sizes (`symbolic_values`).
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.operand import Operand
from tfport.runtime.ops.shared.lowered_sizes import whole
from tfport.runtime.program import Step
from tfport.runtime.symbolic_values import SymbolicValues, size_of_axis
from tfport.runtime.trace import Tracer
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RepeatedPixels:
    """An image, and how often each of its elements is repeated along each axis."""

    source: Operand
    times: tuple[int, ...]


def repeated_pixels(tracer: Tracer, x: Operand) -> RepeatedPixels | None:
    """The smallest image that `x` is an enlargement of; None if there is none."""
    times = [1] * (x.rank or 0)
    while (traced := tracer.traced.get(x)) is not None:
        repeated = _enlarged(tracer, traced.step)
        if repeated is None or len(repeated.times) != len(times):
            break
        x, times = repeated.source, [a * b for a, b in zip(times, repeated.times, strict=True)]
    return RepeatedPixels(x, tuple(times)) if max(times, default=1) > 1 else None


def _enlarged(tracer: Tracer, step: Step) -> RepeatedPixels | None:
    match step.op:
        case "ResizeNearestNeighbor":
            return _resized(tracer, step)
        case "Reshape":
            return _tiled(tracer, step)
        case "ConcatV2":
            return _joined(tracer, step)
    return None


def _resized(tracer: Tracer, step: Step) -> RepeatedPixels | None:
    x, sizes = step.inputs[0], SymbolicValues(tracer).of(step.inputs[1])
    if x.rank != 4 or sizes is None or sizes.shape != (2,) or step.attrs["align_corners"]:
        return None
    for times in (2, 4, 8):  # for other numbers, rounding may choose another pixel
        if all(sizes[i] == size_of_axis(tracer, x, 1 + i) * times for i in range(2)):
            return RepeatedPixels(x, (1, times, times, 1))
    return None


def _tiled(tracer: Tracer, step: Step) -> RepeatedPixels | None:
    """The elements of an axis repeated along a new axis after it, which are then one axis."""
    tile = tracer.traced.get(step.inputs[0])
    expand = tracer.traced.get(tile.step.inputs[0]) if tile is not None and tile.step.op == "Tile" else None
    if tile is None or expand is None or expand.step.op != "ExpandDims":
        return None
    x, new, multiples = expand.step.inputs[0], whole(expand.step.inputs[1]), whole(tile.step.inputs[1])
    if x.rank is None or new is None or multiples is None or len(multiples) != x.rank + 1:
        return None
    axis = new[0] % (x.rank + 1)
    others = [n for i, n in enumerate(multiples) if i != axis]
    if axis == 0 or {*others} != {1} or multiples[axis] < 1:
        return None
    times = tuple(multiples[axis] if i == axis - 1 else 1 for i in range(x.rank))
    sizes = SymbolicValues(tracer).of(step.inputs[1])
    if sizes is None or sizes.shape != (x.rank,):
        return None
    expected = [size_of_axis(tracer, x, i) * n for i, n in enumerate(times)]
    return RepeatedPixels(x, times) if list(sizes) == expected else None


def _joined(tracer: Tracer, step: Step) -> RepeatedPixels | None:
    """The elements of an axis of known size, each several times."""
    *parts, axis = step.inputs
    split = tracer.traced.get(parts[0])
    if split is None or split.step.op != "Split":
        return None
    source, rows = split.step.inputs[1], split.step.outputs
    along, joined = whole(split.step.inputs[0]), whole(axis)
    if source.rank is None or along is None or joined is None or len(parts) % len(rows):
        return None
    if along[0] % source.rank != joined[0] % source.rank or not _has_single_rows(source, along[0], rows):
        return None
    count = len(parts) // len(rows)
    if parts != [row for row in rows for _ in range(count)]:
        return None
    return RepeatedPixels(
        source, tuple(count if i == along[0] % source.rank else 1 for i in range(source.rank))
    )


def _has_single_rows(source: Operand, axis: int, rows: Sequence[Operand]) -> bool:
    return source.shape is not None and source.shape[axis] == len(rows)
