"""XLA operations that call a computation: reductions, windows, scatters, sorts.

A `Computation` is an element-wise function of arrays. If it is known to be a sum, a maximum or
similar, NumPy's function is used; otherwise it is called once per folded element, for all results
at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.runtime.ops.shared.precision import widen
from tfport.runtime.ops.xla import hlo
from tfport.startup.dataclass import dataclass

Ints = Sequence[int]


@dataclass(frozen=True, slots=True)
class Computation:
    """A function of arrays; `known` is its name if it is a known one."""

    call: Callable[..., Sequence[Any]]
    known: str = ""

    @property
    def ufunc(self) -> Any:
        return KNOWN.get(self.known)


KNOWN: dict[str, Any] = {
    "add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
    "and": np.logical_and, "or": np.logical_or,
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
}  # fmt: skip
MOST_IN_A_ROW = 256
"""Up to this many elements are folded in order; of more, neighbors are folded first."""
SECOND = "second"
"""A computation that returns the second of its two arguments: assignment."""


def one_at_a_time(call: Callable[..., Sequence[Any]], outputs: int) -> Callable[..., Sequence[Any]]:
    """A function of scalars as one of arrays, called for each element."""

    def run(*arrays: Any) -> Sequence[Any]:
        spread = np.broadcast_arrays(*arrays)
        if not spread[0].size:
            return [np.zeros(spread[0].shape)] * outputs  # the caller converts to the type
        rows = [call(*(np.asarray(x[at]) for x in spread)) for at in np.ndindex(spread[0].shape)]
        return [np.array(column).reshape(spread[0].shape) for column in zip(*rows, strict=True)]

    return run


def reduce(inputs: Sequence[Any], starts: Sequence[Any], axes: Ints, computation: Computation) -> list[Any]:
    if len(inputs) == 1 and computation.ufunc is not None:
        x = widen(inputs[0])
        start = starts[0].astype(x.dtype)
        total = (
            computation.ufunc.reduce(x, axis=tuple(axes), initial=start[()])
            if axes
            else computation.ufunc(x, start)
        )
        return [np.asarray(total).astype(inputs[0].dtype)]
    rank = inputs[0].ndim
    kept = [i for i in range(rank) if i not in axes]
    shape = tuple(inputs[0].shape[i] for i in kept)
    flat = [x.transpose([*axes, *kept]).reshape(-1, *shape) for x in inputs]
    folded = [np.broadcast_to(s, shape) for s in starts]
    while flat[0].shape[0] > MOST_IN_A_ROW:  # neighbors first: allowed in a reduction, and much faster
        pairs = flat[0].shape[0] // 2
        firsts, seconds = [x[: 2 * pairs : 2] for x in flat], [x[1 : 2 * pairs : 2] for x in flat]
        halves = computation.call(*firsts, *seconds)
        flat = [np.concatenate([half, x[2 * pairs :]]) for half, x in zip(halves, flat, strict=True)]
    for row in zip(*flat, strict=True):
        folded = list(computation.call(*folded, *row))
    return [np.asarray(np.broadcast_to(f, shape), x.dtype) for f, x in zip(folded, inputs, strict=True)]


def reduce_window(
    inputs: Sequence[Any],
    starts: Sequence[Any],
    *,
    size: Ints,
    strides: Ints,
    base_dilation: Ints,
    window_dilation: Ints,
    padding: Sequence[Ints],
    computation: Computation,
) -> list[Any]:
    """Fold windows; padding and gaps between dilated elements are skipped."""
    low, high = [p[0] for p in padding], [p[1] for p in padding]

    def windows_of(x: Any, fill: Any) -> Any:
        spread = hlo.padded(hlo.dilated(x, base_dilation, fill), fill, low, high)
        return hlo.windows(spread, size, strides, window_dilation)

    rank = inputs[0].ndim
    views = [windows_of(widen(x), s) for x, s in zip(inputs, starts, strict=True)]
    inside = windows_of(np.ones(inputs[0].shape, np.bool_), False)
    folded: list[Any] = [
        np.broadcast_to(s.astype(v.dtype), v.shape[:rank]) for s, v in zip(starts, views, strict=True)
    ]
    for offset in np.ndindex(*size):
        present = inside[(..., *offset)]
        elements = [v[(..., *offset)] for v in views]
        results = (
            [computation.ufunc(folded[0], elements[0])]
            if _simple(inputs, computation)
            else computation.call(*folded, *elements)
        )
        folded = [np.where(present, new, old) for new, old in zip(results, folded, strict=True)]
    return [np.asarray(f, x.dtype) for f, x in zip(folded, inputs, strict=True)]


def _simple(inputs: Sequence[Any], computation: Computation) -> bool:
    return len(inputs) == 1 and computation.ufunc is not None


def scatter(
    operands: Sequence[Any],
    indices: Any,
    updates: Sequence[Any],
    computation: Computation,
    **numbers: Any,
) -> list[Any]:
    """Apply updates in order; those out of bounds are skipped."""
    indexes, fits, order = hlo.scatter_indices(operands[0].shape, indices, updates[0].shape, **numbers)
    moved = [u.transpose(order) for u in updates]
    shape = np.broadcast_shapes(*(p.shape for p in indexes), moved[0].shape) if indexes else moved[0].shape
    spread = [np.broadcast_to(p, shape)[fits] for p in indexes]
    rows = [np.broadcast_to(u, shape)[fits] for u in moved]
    out = [o.copy() for o in operands]
    combine_at(out, tuple(spread), rows, computation)
    return out


def combine_at(
    out: Sequence[Any], positions: tuple[Any, ...], rows: Sequence[Any], computation: Computation
) -> None:
    """Combine rows into arrays in order; several may have the same index."""
    if len(out) == 1 and computation.known == SECOND:
        out[0][positions] = rows[0]  # the last of several for one index wins
    elif len(out) == 1 and computation.ufunc is not None and out[0].dtype.kind != "V":
        computation.ufunc.at(out[0], positions, rows[0])
    else:
        for at in range(rows[0].shape[0]):
            where = tuple(p[at] for p in positions)
            new = computation.call(*(np.asarray(o[where]) for o in out), *(np.asarray(r[at]) for r in rows))
            for array, value in zip(out, new, strict=True):
                array[where] = value


def select_and_scatter(
    operand: Any,
    source: Any,
    start: Any,
    *,
    size: Ints,
    strides: Ints,
    padding: Sequence[Ints],
    select: Computation,
    scatter: Computation,
) -> Any:
    """Scatter each element of the source to the selected element of its window."""
    low, high = [p[0] for p in padding], [p[1] for p in padding]
    unit = [1] * operand.ndim
    numbered = np.arange(operand.size, dtype=np.int64).reshape(operand.shape)
    positions = hlo.windows(hlo.padded(numbered, -1, low, high), size, strides, unit)
    values = hlo.windows(hlo.padded(operand, operand.dtype.type(0), low, high), size, strides, unit)
    chosen = np.full(source.shape, -1, np.int64)
    best = np.zeros(source.shape, operand.dtype)
    for offset in np.ndindex(*size):
        position, value = positions[(..., *offset)], values[(..., *offset)]
        keeps = np.asarray(select.call(best, value)[0], np.bool_)
        takes = (position >= 0) & ((chosen < 0) | ~keeps)
        chosen, best = np.where(takes, position, chosen), np.where(takes, value, best)
    out = np.broadcast_to(start, (operand.size,)).astype(operand.dtype).copy()
    selected = (chosen >= 0).reshape(-1)
    combine_at([out], (chosen.reshape(-1)[selected],), [source.reshape(-1)[selected]], scatter)
    return out.reshape(operand.shape)


def ordered(keys: Any, axis: int) -> Any:
    """Indices in ascending order: -0 before 0, and NaN first or last by its sign."""
    if keys.dtype.kind in "fV":
        wide = keys.astype(np.float64)
        bits = wide.view(np.int64)
        keys = np.where(bits < 0, ~bits ^ np.int64(-(2**63)), bits)
    return np.argsort(keys, axis=axis, kind="stable")


def sort(inputs: Sequence[Any], axis: int, comparator: Computation) -> list[Any]:
    """Sort by a comparator; stable."""
    moved = [np.moveaxis(x, axis, 0) for x in inputs]
    length = moved[0].shape[0]
    if comparator.known in ORDERS:
        order = _known_order(moved[0], comparator.known)
        moved = [np.take_along_axis(x, order, 0) for x in moved]
    elif length > 1 and moved[0].size:
        moved = _exchanged([x.copy() for x in moved], comparator)
    return [np.moveaxis(x, 0, axis) for x in moved]


ORDERS = ("less", "greater", "total_less", "total_greater")


def _known_order(keys: Any, name: str) -> Any:
    def ascending(x: Any) -> Any:
        return ordered(x, 0) if name.startswith("total_") else np.argsort(x, axis=0, kind="stable")

    if name.endswith("less"):
        return ascending(keys)
    # reversed twice, so that the sort is stable
    return keys.shape[0] - 1 - np.flip(ascending(np.flip(keys, 0)), 0)


def _exchanged(arrays: list[Any], comparator: Computation) -> list[Any]:
    """Batcher's bitonic network: all pairs of a step are compared in one call."""
    length = arrays[0].shape[0]
    size = 1 << (length - 1).bit_length()
    fill = [(0, size - length)] + [(0, 0)] * (arrays[0].ndim - 1)
    shape = (size, *arrays[0].shape[1:])
    column = np.arange(size).reshape(-1, *[1] * (arrays[0].ndim - 1))
    # the original index breaks ties, and keeps padding last
    arrays = [*(np.pad(x, fill) for x in arrays), np.broadcast_to(column, shape).copy()]

    def before(first: list[Any], second: list[Any]) -> Any:
        def compare(a: list[Any], b: list[Any]) -> Any:
            pairs = [side for pair in zip(a[:-1], b[:-1], strict=True) for side in pair]
            return np.asarray(comparator.call(*pairs)[0], np.bool_)

        a, b = first[-1], second[-1]
        equal = ~compare(second, first)
        real = compare(first, second) | (equal & (a < b))
        return np.where((a >= length) | (b >= length), a < b, real)

    indices = np.arange(size)
    for block in (1 << i for i in range(1, size.bit_length())):
        for step in (block >> i for i in range(1, block.bit_length())):
            low = indices[(indices & step) == 0]
            high = low | step
            upwards = ((low & block) == 0).reshape(-1, *[1] * (arrays[0].ndim - 1))
            first, second = [x[low] for x in arrays], [x[high] for x in arrays]
            keep = before(first, second) == upwards
            for x, a, b in zip(arrays, first, second, strict=True):
                x[low], x[high] = np.where(keep, a, b), np.where(keep, b, a)
    return [x[:length] for x in arrays[:-1]]
