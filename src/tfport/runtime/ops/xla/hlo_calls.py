"""XLA's operations that call a computation: reductions, windows, scatters, sorts.

A `Computation` is a function of arrays of one shape, element by element. Where it is known to be
a sum, a maximum or the like, NumPy's own function is used; otherwise it is called once for
each element that is folded, for all results at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfport.runtime.ops.shared.precision import widen
from tfport.runtime.ops.xla import hlo

Ints = Sequence[int]


@dataclass(frozen=True, slots=True)
class Computation:
    """Arrays in, arrays out; `known` names what it is, if that is known."""

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
"""Elements that are folded one after the other; of more, neighbours are folded first."""
SECOND = "second"
"""A computation that answers the second of its two arguments: assignment."""


def reduce(inputs: Sequence[Any], starts: Sequence[Any], axes: Ints, computation: Computation) -> list[Any]:
    if len(inputs) == 1 and computation.ufunc is not None:
        x = widen(inputs[0])
        start = starts[0].astype(x.dtype)
        found = (
            computation.ufunc.reduce(x, axis=tuple(axes), initial=start[()])
            if axes
            else computation.ufunc(x, start)
        )
        return [np.asarray(found).astype(inputs[0].dtype)]
    rank = inputs[0].ndim
    kept = [i for i in range(rank) if i not in axes]
    shape = tuple(inputs[0].shape[i] for i in kept)
    flat = [x.transpose([*axes, *kept]).reshape(-1, *shape) for x in inputs]
    folded = [np.broadcast_to(s, shape) for s in starts]
    while flat[0].shape[0] > MOST_IN_A_ROW:  # neighbours first, which a reduction allows and is much faster
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
    """What is outside, or between dilated elements, is not folded in."""
    low, high = [p[0] for p in padding], [p[1] for p in padding]

    def seen(x: Any, fill: Any) -> Any:
        spread = hlo.padded(hlo.dilated(x, base_dilation, fill), fill, low, high)
        return hlo.windows(spread, size, strides, window_dilation)

    rank = inputs[0].ndim
    views = [seen(widen(x), s) for x, s in zip(inputs, starts, strict=True)]
    inside = seen(np.ones(inputs[0].shape, np.bool_), False)
    folded: list[Any] = [
        np.broadcast_to(s.astype(v.dtype), v.shape[:rank]) for s, v in zip(starts, views, strict=True)
    ]
    for offset in np.ndindex(*size):
        there = inside[(..., *offset)]
        given = [v[(..., *offset)] for v in views]
        one = (
            [computation.ufunc(folded[0], given[0])]
            if _simple(inputs, computation)
            else computation.call(*folded, *given)
        )
        folded = [np.where(there, new, old) for new, old in zip(one, folded, strict=True)]
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
    """Updates one after the other; those that do not fit are left out."""
    places, fits, order = hlo.scatter_places(operands[0].shape, indices, updates[0].shape, **numbers)
    moved = [u.transpose(order) for u in updates]
    shape = np.broadcast_shapes(*(p.shape for p in places), moved[0].shape) if places else moved[0].shape
    spread = [np.broadcast_to(p, shape)[fits] for p in places]
    rows = [np.broadcast_to(u, shape)[fits] for u in moved]
    out = [o.copy() for o in operands]
    combine_at(out, tuple(spread), rows, computation)
    return out


def combine_at(
    out: Sequence[Any], places: tuple[Any, ...], rows: Sequence[Any], computation: Computation
) -> None:
    """Put rows into arrays, in order, where several may go to one place."""
    if len(out) == 1 and computation.known == SECOND:
        out[0][places] = rows[0]  # of several to one place the last stays
    elif len(out) == 1 and computation.ufunc is not None and out[0].dtype.kind != "V":
        computation.ufunc.at(out[0], places, rows[0])
    else:
        for at in range(rows[0].shape[0]):
            where = tuple(p[at] for p in places)
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
    """Each element of the source goes to the element of its window that was selected."""
    low, high = [p[0] for p in padding], [p[1] for p in padding]
    ones = [1] * operand.ndim
    numbered = np.arange(operand.size, dtype=np.int64).reshape(operand.shape)
    places = hlo.windows(hlo.padded(numbered, -1, low, high), size, strides, ones)
    values = hlo.windows(hlo.padded(operand, operand.dtype.type(0), low, high), size, strides, ones)
    chosen = np.full(source.shape, -1, np.int64)
    best = np.zeros(source.shape, operand.dtype)
    for offset in np.ndindex(*size):
        place, value = places[(..., *offset)], values[(..., *offset)]
        keeps = np.asarray(select.call(best, value)[0], np.bool_)
        takes = (place >= 0) & ((chosen < 0) | ~keeps)
        chosen, best = np.where(takes, place, chosen), np.where(takes, value, best)
    out = np.broadcast_to(start, (operand.size,)).astype(operand.dtype).copy()
    there = (chosen >= 0).reshape(-1)
    combine_at([out], (chosen.reshape(-1)[there],), [source.reshape(-1)[there]], scatter)
    return out.reshape(operand.shape)


def ordered(keys: Any, axis: int) -> Any:
    """Places in ascending order: -0 before 0, and NaN by its sign in front or behind."""
    if keys.dtype.kind in "fV":
        wide = keys.astype(np.float64)
        bits = wide.view(np.int64)
        keys = np.where(bits < 0, ~bits ^ np.int64(-(2**63)), bits)
    return np.argsort(keys, axis=axis, kind="stable")


def sort(inputs: Sequence[Any], axis: int, comparator: Computation) -> list[Any]:
    """In the order of a comparator; equal ones stay as they were."""
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
    # from behind, so that equal ones stay in order
    return keys.shape[0] - 1 - np.flip(ascending(np.flip(keys, 0)), 0)


def _exchanged(arrays: list[Any], comparator: Computation) -> list[Any]:
    """Pairs change places where they have to, all pairs of a step in one call: Batcher's bitonic network."""
    length = arrays[0].shape[0]
    size = 1 << (length - 1).bit_length()
    fill = [(0, size - length)] + [(0, 0)] * (arrays[0].ndim - 1)
    shape = (size, *arrays[0].shape[1:])
    column = np.arange(size).reshape(-1, *[1] * (arrays[0].ndim - 1))
    # the place where each began decides between equal ones, and keeps what was filled in behind all others
    arrays = [*(np.pad(x, fill) for x in arrays), np.broadcast_to(column, shape).copy()]

    def before(first: list[Any], second: list[Any]) -> Any:
        def says(a: list[Any], b: list[Any]) -> Any:
            pairs = [side for pair in zip(a[:-1], b[:-1], strict=True) for side in pair]
            return np.asarray(comparator.call(*pairs)[0], np.bool_)

        a, b = first[-1], second[-1]
        equal = ~says(second, first)
        real = says(first, second) | (equal & (a < b))
        return np.where((a >= length) | (b >= length), a < b, real)

    places = np.arange(size)
    for block in (1 << i for i in range(1, size.bit_length())):
        for step in (block >> i for i in range(1, block.bit_length())):
            low = places[(places & step) == 0]
            high = low | step
            upwards = ((low & block) == 0).reshape(-1, *[1] * (arrays[0].ndim - 1))
            first, second = [x[low] for x in arrays], [x[high] for x in arrays]
            keep = before(first, second) == upwards
            for x, a, b in zip(arrays, first, second, strict=True):
                x[low], x[high] = np.where(keep, a, b), np.where(keep, b, a)
    return [x[:length] for x in arrays[:-1]]
