"""Unsorted segments, lowered to ONNX."""

from __future__ import annotations

from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.ops.array.lowerings.scattering import NO_ROW, check_type, product_of_sizes, scattered_rows
from tfport.runtime.ops.shared.lowered_sizes import filled, reshaped, sizes_of, whole


@lower("UnsortedSegmentSum")
def unsorted_segment_sum(b, data, segment_ids, num_segments):
    return _segments(b, data, segment_ids, num_segments, "add", 0)


@lower("UnsortedSegmentProd")
def unsorted_segment_prod(b, data, segment_ids, num_segments):
    return _segments(b, data, segment_ids, num_segments, "mul", 1)


def _segments(b, data, segment_ids, num_segments, reduction, nothing):
    """Rows with a negative segment id go to an extra row, which is dropped; an id that is too large fails."""
    prefix = rank_of(segment_ids, "segment_ids")
    if not prefix or prefix > rank_of(data):
        raise CannotLower("segment_ids is a scalar, or has too many axes")
    check_type(data)
    rest = sizes_of(b, data, prefix)
    width = product_of_sizes(b, rest)
    ids = b.reshape(b.int64(segment_ids), -1, 1)
    known = whole(num_segments)
    count = b.ints(known[0]) if known else b.vector(num_segments)
    if known and known[0] < 0:
        raise CannotLower("num_segments is negative")
    rows = b.Where(b.Less(ids, b.ints(0)), count, b.Where(b.GreaterOrEqual(ids, count), b.ints(NO_ROW), ids))
    number = product_of_sizes(b, sizes_of(b, segment_ids))
    more = known[0] + 1 if known else b.Add(count, b.ints(1))
    base = filled(b, data, [more, width], nothing)
    reduced = scattered_rows(b, base, rows, data, [number, width], reduction=reduction)
    kept = b.Slice(reduced, b.ints(0), count, b.ints(0))
    return reshaped(b, kept, [known[0] if known else count, *rest])
