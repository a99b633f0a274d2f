"""Slices, lowered to ONNX: by begin and size, or with strides and masks."""

from __future__ import annotations

from tfport.errors import RunFailed
from tfport.graph.dtypes import BOOL
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.onnx.known_values import is_never_negative
from tfport.runtime.ops.array.strided_slices import NEW, ONE, SPAN, parts
from tfport.runtime.ops.shared.lowered_sizes import (
    FIRST,
    LAST,
    checked,
    cut,
    numbers_of,
    settled,
    size_of,
    whole,
)

REFUSED = -2
"""An invalid size, so that a reshape fails."""


@lower("Slice")
def slice_(b, input, begin, size):
    rank = rank_of(input)
    if not rank:
        raise CannotLower("ONNX Runtime does not slice scalars")
    first, count = whole(begin), whole(size)
    if first is None or count is None:
        return _slice_at_run_time(b, input, begin, size)
    if len(first) != rank or len(count) != rank or any(n < 0 for n in first) or any(n < -1 for n in count):
        raise CannotLower("begin or size is invalid")
    output = input
    for axis in range(rank):
        output = _span(b, output, axis, first[axis], count[axis])
    return settled(b, output)


def _span(b, x, axis, first, count):
    """ONNX truncates a slice that is too long, TensorFlow refuses it; so check the resulting size."""
    if first == 0 and count == -1:
        return x
    available = size_of(b, x, axis)
    if isinstance(available, int):
        end = available if count == -1 else first + count
        if first > available or end > available:
            raise CannotLower("a slice is longer than the axis")
        return cut(b, x, {axis: (first, end, 1)}) if end - first < available else x
    if count > 0:
        return checked(b, cut(b, x, {axis: (first, first + count, 1)}), axis, count)
    # Split fails if `first` is beyond the end, since the remaining size is negative
    left = b.Sub(available, b.ints(first))
    _, behind = b.nodes("Split", x, b.Concat(b.ints(first), left, axis=0), outputs=2, axis=axis)
    return behind if count == -1 else cut(b, behind, {axis: (0, 0, 1)})


def _slice_at_run_time(b, x, begin, size):
    """Compute the expected shape beside the slice; it is invalid if the slice is out of bounds."""
    first, count, axes = b.vector(begin), b.vector(size), b.ints(*range(x.rank))
    if _a_reshape_checks(x, first, count):
        return b.Reshape(b.Slice(x, first, b.Add(first, count), axes), count, allowzero=1)
    available, zero = b.Shape(x), b.ints(0)
    rest = b.Sub(available, first)
    wanted = b.Where(b.Equal(count, b.ints(-1)), rest, count)
    bad = b.Or(b.Or(b.Less(first, zero), b.Less(wanted, zero)), b.Greater(wanted, rest))
    part = b.Slice(x, first, b.Add(first, b.Max(wanted, zero)), axes)
    sizes = whole(size)
    shape = [None if sizes is None or n == -1 else n for n in sizes or (None,) * x.rank]
    out = b.Reshape(part, b.Where(bad, b.ints(REFUSED), wanted), allowzero=1)
    out.shape = tuple(shape)
    return out


def _a_reshape_checks(x, first, count):
    """Whether a reshape to the size fails if the slice is too long: one axis may be, from its beginning.

    Were there two, or an axis of size 0, a slice without elements would fit.
    """
    if first.known is None or count.known is None or not is_never_negative(count):
        return False
    if not len(first.known) == len(count.known) == x.rank:
        return False
    axes = list(zip(first.known, count.known, x.shape, strict=True))
    fits = [None not in (at, n, size) and at >= 0 and n > 0 and at + n <= size for at, n, size in axes]
    others = [at for (at, _, _), one_fits in zip(axes, fits, strict=True) if not one_fits]
    return others in ([], [0])


@lower("StridedSlice")
def strided_slice(
    b, input, begin, end, strides, *, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
):
    steps = numbers_of(strides, "strides")
    # without an ellipsis, there may be any number of axes after the specified ones
    specified = len(steps) - (new_axis_mask & ((1 << len(steps)) - 1)).bit_count()
    rank = rank_of(input) if ellipsis_mask or input.rank is not None else specified
    if begin.shape != (len(steps),) or end.shape != (len(steps),):
        raise CannotLower("begin, end and strides differ in length")
    try:
        todo = parts(len(steps), rank, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    except RunFailed as error:
        raise CannotLower(str(error)) from None
    read = [part for part in todo if part.kind != NEW]
    cuts = {axis: part for axis, part in enumerate(read) if part.kind in (SPAN, ONE)}
    if any(steps[p.at] == 0 or (p.kind == ONE and steps[p.at] < 0) for p in cuts.values()):
        raise CannotLower("strides is invalid")
    for axis, part in cuts.items():
        _check_start(part, input.shape[axis] if input.shape is not None else None, begin, steps)
    output = _cut(b, input, cuts, begin, end, steps)
    if gone := [axis for axis, part in cuts.items() if part.kind == ONE]:
        output = b.squeeze(output, *gone)
    kept = [part for part in todo if part.kind != ONE]
    if new := [axis for axis, part in enumerate(kept) if part.kind == NEW]:
        output = b.unsqueeze(output, *new)
    return settled(b, output)


def _check_start(part, size, begin, steps):
    """A backward slice from before the first element is empty; ONNX would start at the first."""
    first = begin.known[part.at] if begin.known is not None else None
    if part.kind == ONE and None not in (first, size) and not -size <= first < size:
        raise CannotLower("the index is out of bounds")
    if part.kind == ONE or part.from_first or steps[part.at] > 0:
        return
    if first is None or first < (-1 if size is None else -size):
        raise CannotLower("it may start before the first element")


def _cut(b, x, cuts, begin, end, steps):
    if not cuts:
        return x
    bounds = {axis: _bounds(part, begin, end, steps) for axis, part in cuts.items()}
    if all(None not in span for span in bounds.values()):
        trivial = {axis for axis, span in bounds.items() if span == (0, LAST, 1)}
        return cut(b, x, {axis: span for axis, span in bounds.items() if axis not in trivial})
    starts = _vector(b, begin, [(part.at, bounds[axis][0]) for axis, part in cuts.items()])
    ends = _vector(b, end, [(part.at, bounds[axis][1]) for axis, part in cuts.items()])
    single = [part.kind == ONE and bounds[axis][0] is None for axis, part in cuts.items()]
    if any(single):
        behind = b.Where(b.Equal(starts, b.ints(-1)), b.ints(LAST), b.Add(starts, b.ints(1)))
        ends = behind if all(single) else b.Where(b.const(single, BOOL), behind, ends)
    return b.Slice(x, starts, ends, b.ints(*cuts), b.ints(*(steps[part.at] for part in cuts.values())))


def _bounds(part, begin, end, steps):
    """Start, end and step of a part for ONNX; None for what is known only at run time."""
    first = begin.known[part.at] if begin.known is not None else None
    last = end.known[part.at] if end.known is not None else None
    step = steps[part.at]
    if part.kind == ONE:
        return first, None if first is None else LAST if first == -1 else first + 1, 1
    if part.from_first:
        first = 0 if step > 0 else LAST
    if part.to_last:
        last = LAST if step > 0 else FIRST
    return first, last, step


def _vector(b, vector, wanted):
    """Elements of a vector by index, or their known values."""
    wide = b.int64(vector)
    if [at for at, _ in wanted] != list(range(vector.shape[0])):
        wide = b.Gather(wide, b.ints(*(at for at, _ in wanted)), axis=0)
    if all(known is None for _, known in wanted):
        return wide
    if all(known is not None for _, known in wanted):
        return b.ints(*(known for _, known in wanted))
    mask = b.const([known is not None for _, known in wanted], BOOL)
    return b.Where(mask, b.ints(*(known or 0 for _, known in wanted)), wide)
