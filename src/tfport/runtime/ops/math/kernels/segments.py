"""Segment reductions: sorted, unsorted, and of gathered rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.axes import check_indices, full
from tfport.runtime.ops.shared.precision import widen

_REDUCE = {"Sum": np.add, "Prod": np.multiply, "Max": np.maximum, "Min": np.minimum}
_EMPTY = {"Sum": 0, "Mean": 0, "Prod": 1, "Max": 0, "Min": 0}


WIDE = 32
"""Rows of so many numbers are wide."""
OUT_OF_RANGE = "{what}[{at}] = {index} is out of range [0, {size})"
BAD_INDEX = "Bad: {what}[{at}] == {index} out of range [0, {size})"


def _check_sorted(data, segment_ids):
    if segment_ids.ndim != 1 or not data.ndim or len(segment_ids) != data.shape[0]:
        raise RunFailed(f"segment_ids has shape {list(segment_ids.shape)}, expected {list(data.shape[:1])}")
    if segment_ids.size and segment_ids[0] < 0:
        raise RunFailed(
            f"Segment id {segment_ids[0]} out of range [0, {max(int(segment_ids[-1]) + 1, 0)}), "
            "possibly because 'segment_ids' input is not sorted."
        )
    if (segment_ids[1:] < segment_ids[:-1]).any():
        raise RunFailed("segment ids are not increasing")


def _starts(segment_ids):
    """The start and id of each segment that is not empty."""
    first = np.ones(len(segment_ids), bool)
    first[1:] = segment_ids[1:] != segment_ids[:-1]
    starts = np.flatnonzero(first)
    return starts, segment_ids[starts]


def _reduced(data, segment_ids, count, reduction):
    """Reduce sorted segments; empty segments get the op's default."""
    wide = widen(data)
    results = full((count, *data.shape[1:]), _EMPTY[reduction], wide.dtype)
    if data.shape[0]:
        starts, ids = _starts(segment_ids)
        function = _REDUCE["Sum" if reduction == "Mean" else reduction]
        rows = _each_reduced(function, wide, starts)
        if reduction == "Mean":
            rows = _divide(rows, np.diff([*starts, len(segment_ids)]))
        results[ids] = rows
    return results.astype(data.dtype)


def _each_reduced(function, rows, starts):
    """Reduce the rows from each start to the next; `reduceat` is slow for wide rows."""
    if rows[0].size < WIDE:
        return function.reduceat(rows, starts, axis=0, dtype=rows.dtype)
    results = np.empty((len(starts), *rows.shape[1:]), rows.dtype)
    for at, (start, end) in enumerate(pairwise([*starts.tolist(), len(rows)])):
        function.reduce(rows[start:end], axis=0, dtype=rows.dtype, out=results[at, ...])
    return results


def _divide(rows, counts):
    """Divide rows by their counts; integers round toward zero."""
    divisor = counts.reshape(-1, *[1] * (rows.ndim - 1)).astype(rows.dtype)
    if rows.dtype.kind not in "iu":
        return rows / divisor
    return np.sign(rows) * (np.abs(rows) // divisor)


@host("SegmentSum SegmentMean SegmentProd SegmentMax SegmentMin")
def segment(data, segment_ids, *, context):
    _check_sorted(data, segment_ids)
    count = int(segment_ids[-1]) + 1 if segment_ids.size else 0
    return _reduced(data, segment_ids, count, context.op.removeprefix("Segment"))


@host("SegmentSumV2 SegmentProdV2 SegmentMaxV2 SegmentMinV2")
def segment_v2(data, segment_ids, num_segments, *, context):
    _check_sorted(data, segment_ids)
    reduction = context.op.removeprefix("Segment").removesuffix("V2")
    return _unsorted(data, segment_ids, int(num_segments), reduction)


@host("UnsortedSegmentSum UnsortedSegmentProd UnsortedSegmentMax UnsortedSegmentMin")
def unsorted_segment(data, segment_ids, num_segments, *, context):
    return _unsorted(data, segment_ids, int(num_segments), context.op.removeprefix("UnsortedSegment"))


def _unsorted(data, segment_ids, count, reduction):
    """Reduce segments in any order; rows with a negative id are ignored."""
    if count < 0:
        raise RunFailed(f"num_segments must not be negative, found {count}")
    if data.shape[: segment_ids.ndim] != segment_ids.shape:
        raise RunFailed(
            f"data {list(data.shape)} must begin with the axes of segment_ids {list(segment_ids.shape)}"
        )
    rest = data.shape[segment_ids.ndim :]
    rows, ids = data.reshape(segment_ids.size, *rest), segment_ids.reshape(-1)
    check_indices(segment_ids, count, "segment_ids", OUT_OF_RANGE, may_be_negative=True)
    if ids.size and ids.min() < 0:
        rows, ids = rows[ids >= 0], ids[ids >= 0]
    if reduction in ("Sum", "Prod") and (ids[1:] >= ids[:-1]).all():
        return _reduced(rows, ids, count, reduction)
    wide = widen(rows)
    results = full((count, *rest), _empty(reduction, data.dtype), wide.dtype)
    if reduction in ("Max", "Min") and wide.dtype.kind == "f" and np.isnan(wide).any():
        # in order, since TensorFlow's comparison keeps the newer value if either is NaN
        for at, row in zip(ids, wide, strict=True):
            kept = results[at] > row if reduction == "Max" else results[at] < row
            results[at] = np.where(kept, results[at], row)
    else:
        _REDUCE[reduction].at(results, ids, wide)
    return results.astype(data.dtype)


def _empty(reduction, dtype):
    """The result of an empty segment; for Max and Min, the limits of the type."""
    if reduction in ("Sum", "Prod"):
        return _EMPTY[reduction]
    import ml_dtypes

    limits: Any = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.finfo(dtype)
    return limits.min if reduction == "Max" else limits.max


@host("SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN")
def sparse_segment(data, indices, segment_ids, *, sparse_gradient, context):
    count = int(segment_ids[-1]) + 1 if segment_ids.size else 0
    return _gathered(data, indices, segment_ids, count, context.op)


@host("SparseSegmentSumWithNumSegments SparseSegmentMeanWithNumSegments SparseSegmentSqrtNWithNumSegments")
def sparse_segment_with_num_segments(data, indices, segment_ids, num_segments, *, sparse_gradient, context):
    count = int(num_segments.reshape(()))
    if count < 0 or (segment_ids.size and segment_ids[-1] >= count):
        raise RunFailed(
            f"segment ids must be less than num_segments={count}, found {segment_ids[-1:].tolist()}"
        )
    return _gathered(data, indices, segment_ids, count, context.op)


def _gathered(data, indices, segment_ids, count, op):
    if indices.ndim != 1 or indices.shape != segment_ids.shape:
        raise RunFailed(
            "indices and segment_ids must be vectors of the same length, "
            f"found shapes {list(indices.shape)} and {list(segment_ids.shape)}"
        )
    if not data.ndim:
        raise RunFailed("data must have at least 1 axis, found a scalar")
    check_indices(indices, data.shape[0], "indices", BAD_INDEX)
    rows = widen(data[indices])
    _check_sorted(rows, segment_ids)
    results = _reduced(rows, segment_ids, count, "Sum")
    if "Mean" in op or "SqrtN" in op:
        counts = np.maximum(np.bincount(segment_ids, minlength=count), 1).astype(results.dtype)
        divisor = np.sqrt(counts) if "SqrtN" in op else counts
        results = results / divisor.reshape(-1, *[1] * (results.ndim - 1))
    return results.astype(data.dtype)


@host("SparseSegmentSumGrad SparseSegmentMeanGrad SparseSegmentSqrtNGrad")
def sparse_segment_grad(grad, indices, segment_ids, output_dim0, *, context):
    count = int(output_dim0.reshape(()))
    check_indices(indices, count)
    return _spread(grad, indices, segment_ids, count, context.op)


@host("SparseSegmentSumGradV2 SparseSegmentMeanGradV2 SparseSegmentSqrtNGradV2")
def sparse_segment_grad_v2(grad, indices, segment_ids, dense_output_dim0, *, context):
    """Only the rows that have a gradient, and their sorted indices."""
    check_indices(indices, int(dense_output_dim0.reshape(())))
    distinct, compact = np.unique(indices, return_inverse=True)
    rows = _spread(grad, compact.reshape(-1), segment_ids, len(distinct), context.op)
    return rows, distinct.astype(indices.dtype)


def _spread(grad, indices, segment_ids, count, op):
    if indices.ndim != 1 or indices.shape != segment_ids.shape:
        raise RunFailed(
            "indices and segment_ids must be vectors of the same length, "
            f"found shapes {list(indices.shape)} and {list(segment_ids.shape)}"
        )
    check_indices(segment_ids, grad.shape[0], "segment_ids")
    rows = widen(grad)[segment_ids]
    if "Mean" in op or "SqrtN" in op:
        counts = np.bincount(segment_ids, minlength=grad.shape[0])[segment_ids].astype(rows.dtype)
        divisor = np.sqrt(counts) if "SqrtN" in op else counts
        rows = rows / divisor.reshape(-1, *[1] * (rows.ndim - 1))
    results = np.zeros((count, *grad.shape[1:]), rows.dtype)
    np.add.at(results, indices, rows)
    return results.astype(grad.dtype)
