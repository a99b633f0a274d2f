"""Non-maximum suppression: of overlapping boxes, keep those with the best scores."""

from __future__ import annotations

import functools
import heapq
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.image.tie_order import are_distinct, popped, sorted_order

Overlap = Callable[[int, Any], Any]
"""Function of a box index and an array of others: the overlap of the box with each of them."""


def _scalar(value: Any, what: str) -> Any:
    if value.ndim:
        raise RunFailed(f"{what} must be a scalar, found shape {list(value.shape)}")
    return value[()]


def _count(max_output_size: Any) -> int:
    count = int(_scalar(max_output_size, "max_output_size"))
    if count < 0:
        raise RunFailed(f"max_output_size must not be negative, found {count}")
    return count


def _fraction(threshold: Any, what: str = "iou_threshold") -> Any:
    value = _scalar(np.asarray(threshold), what)
    if not 0 <= value <= 1:
        raise RunFailed(f"{what} must be between 0 and 1, found {value}")
    return value


def overlaps(boxes: Any) -> Overlap:
    """Intersection over union of a box with others; the corners may be in any order."""
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise RunFailed(f"boxes must have shape [n, 4], found {list(boxes.shape)}")

    @functools.cache
    def corners() -> tuple[Any, Any, Any]:
        """The low and high corners, and the areas; not needed where there is a single candidate."""
        wide = boxes.astype(np.float32)
        low, high = np.minimum(wide[:, :2], wide[:, 2:]), np.maximum(wide[:, :2], wide[:, 2:])
        sides = high - low
        return low, high, sides[:, 0] * sides[:, 1]

    def overlap(box: int, others: Any) -> Any:
        low, high, areas = corners()
        if areas[box] <= 0:
            return np.zeros(len(others), np.float32)
        common = np.minimum(high[box], high[others]) - np.maximum(low[box], low[others])
        common = np.maximum(common, np.float32(0))
        shared = common[:, 0] * common[:, 1]
        ratio = shared / (areas[box] + areas[others] - shared)
        return np.where(areas[others] <= 0, np.float32(0), ratio)

    return overlap


def _from_matrix(overlaps: Any) -> Overlap:
    if overlaps.ndim != 2 or overlaps.shape[0] != overlaps.shape[1]:
        raise RunFailed(f"overlaps must be a square matrix, found shape {list(overlaps.shape)}")
    return lambda box, others: overlaps[others, box]


def _check_scores(scores: Any, count: int) -> None:
    if scores.shape != (count,):
        raise RunFailed(f"scores must have shape [{count}], found {list(scores.shape)}")


def select_best(order: Any, overlap: Overlap, threshold: Any, count: int) -> list[int]:
    """Select boxes in order, skipping those that overlap an already selected box too much."""
    taken: list[int] = []
    while len(order) and len(taken) < count:
        box, order = order[0], order[1:]
        taken.append(int(box))
        order = order[~(overlap(box, order) > threshold)]
    return taken


def _select(scores: Any, overlap: Overlap, count: int, threshold: Any, least: Any) -> list[int]:
    candidates = np.flatnonzero(scores > least)
    order = candidates[np.argsort(-scores[candidates].astype(np.float64), kind="stable")]
    dtype = scores.dtype.type
    return select_best(order, lambda box, others: overlap(box, others).astype(dtype), dtype(threshold), count)


def _padded(values: list[Any], size: int, dtype: Any) -> Any:
    out = np.zeros(size, dtype)
    out[: len(values)] = values
    return out


LOWEST = float(np.finfo(np.float32).min)


@host("NonMaxSuppression")
def nms(boxes, scores, max_output_size, *, iou_threshold):
    return _select_indices(boxes, scores, max_output_size, np.float32(iou_threshold), np.float32(LOWEST))


@host("NonMaxSuppressionV2")
def nms_v2(boxes, scores, max_output_size, iou_threshold):
    lowest = np.finfo(scores.dtype).min
    return _select_indices(boxes, scores, max_output_size, iou_threshold, lowest)


@host("NonMaxSuppressionV3")
def nms_v3(boxes, scores, max_output_size, iou_threshold, score_threshold):
    return _select_indices(
        boxes, scores, max_output_size, iou_threshold, _scalar(score_threshold, "score_threshold")
    )


def _select_indices(boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any, least: Any) -> Any:
    overlap = overlaps(boxes)
    _check_scores(scores, len(boxes))
    threshold, count = _fraction(iou_threshold), _count(max_output_size)
    return np.array(_select(scores, overlap, count, threshold, scores.dtype.type(least)), np.int32)


@host("NonMaxSuppressionV4")
def nms_v4(boxes, scores, max_output_size, iou_threshold, score_threshold, *, pad_to_max_output_size):
    indices = nms_v3(boxes, scores, max_output_size, iou_threshold, score_threshold)
    padded = _padded(indices, _count(max_output_size), np.int32) if pad_to_max_output_size else indices
    return padded, np.array(len(indices), np.int32)


@host("NonMaxSuppressionV5")
def nms_v5(
    boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma, *, pad_to_max_output_size
):
    overlap, count = overlaps(boxes), _count(max_output_size)
    _check_scores(scores, len(boxes))
    threshold, least = _fraction(iou_threshold), _scalar(score_threshold, "score_threshold")
    sigma = _scalar(soft_nms_sigma, "soft_nms_sigma")
    if sigma < 0:
        raise RunFailed(f"soft_nms_sigma must not be negative, found {sigma}")
    if sigma > 0:
        indices, kept_scores = select_softly(scores, overlap, count, least, sigma)
    else:
        indices = _select(scores, overlap, count, threshold, least)
        kept_scores = scores[np.array(indices, np.int64)].tolist()
    size = count if pad_to_max_output_size else len(indices)
    padded = _padded(indices, size, np.int32), _padded(kept_scores, size, scores.dtype)
    return *padded, np.array(len(indices), np.int32)


@host("NonMaxSuppressionWithOverlaps")
def nms_with_overlaps(overlaps, scores, max_output_size, overlap_threshold, score_threshold):
    overlap = _from_matrix(overlaps)
    _check_scores(scores, len(overlaps))
    threshold = _scalar(overlap_threshold, "overlap_threshold")
    least = _scalar(score_threshold, "score_threshold")
    return np.array(_select(scores, overlap, _count(max_output_size), threshold, least), np.int32)


@host("CombinedNonMaxSuppression")
def combined_nms(
    boxes,
    scores,
    max_output_size_per_class,
    max_total_size,
    iou_threshold,
    score_threshold,
    *,
    pad_per_class,
    clip_boxes,
):
    per_class = int(_scalar(max_output_size_per_class, "max_output_size_per_class"))
    total = int(_scalar(max_total_size, "max_total_size"))
    if per_class <= 0 or total <= 0:
        raise RunFailed(
            f"max_output_size_per_class and max_total_size must be positive, found {per_class} and {total}"
        )
    if boxes.ndim != 4 or boxes.shape[3] != 4 or scores.ndim != 3 or boxes.shape[:2] != scores.shape[:2]:
        raise RunFailed(
            "boxes must have shape [batch, n, classes, 4] and scores [batch, n, classes], "
            f"found {list(boxes.shape)} and {list(scores.shape)}"
        )
    classes = scores.shape[2]
    if boxes.shape[2] not in (1, classes):
        raise RunFailed(f"boxes must be of 1 class or of all {classes} classes, found {boxes.shape[2]}")
    threshold, least = _fraction(iou_threshold), _scalar(score_threshold, "score_threshold")
    size = min(total, per_class * classes) if pad_per_class else total
    rows = [
        _image(boxes[i], scores[i], per_class, size, threshold, least, clip_boxes) for i in range(len(boxes))
    ]
    if not rows:
        return (
            np.zeros((0, size, 4), np.float32),
            np.zeros((0, size), np.float32),
            np.zeros((0, size), np.float32),
            np.zeros(0, np.int32),
        )
    return tuple(np.stack(column) for column in zip(*rows, strict=True))


def _select_popped(candidates: Any, scores: Any, overlap: Overlap, threshold: Any, count: int) -> list[int]:
    """As `select_best`, in the order in which a heap returns boxes, of which it takes no more than needed."""
    if are_distinct(scores):
        return select_best(candidates[np.argsort(-scores, kind="stable")], overlap, threshold, count)
    taken: list[int] = []
    left = np.ones(len(candidates), np.bool_)
    for position in popped(scores):
        if left[position]:
            taken.append(int(candidates[position]))
            if len(taken) == count:
                break
            left &= ~(overlap(taken[-1], candidates) > threshold)
    return taken


def _image(
    boxes: Any, scores: Any, per_class: int, size: int, threshold: Any, least: Any, clip: bool
) -> tuple[Any, Any, Any, Any]:
    """The best boxes of an image over all classes: boxes, scores, classes and their number."""
    limit, classes = min(per_class, len(scores)), scores.shape[1]
    boxes_kept, scores_kept = np.full((classes, limit), -1), np.full((classes, limit), -np.inf, np.float32)
    for k in range(classes):
        candidates = np.flatnonzero(scores[:, k] > least)
        overlap = overlaps(boxes[:, min(k, boxes.shape[1] - 1)])
        taken = _select_popped(candidates, scores[candidates, k], overlap, threshold, limit)
        boxes_kept[k, : len(taken)], scores_kept[k, : len(taken)] = taken, scores[taken, k]
    order = sorted_order(scores_kept.reshape(-1))[: min(size, np.count_nonzero(boxes_kept >= 0))]
    at, columns = boxes_kept.reshape(-1)[order], order // max(limit, 1)
    kept = boxes[at, np.minimum(columns, boxes.shape[1] - 1)]
    out = np.zeros((size, 4), np.float32)
    out[: len(at)] = np.clip(kept, 0, 1) if clip else kept
    return (
        out,
        _padded(scores[at, columns], size, np.float32),
        _padded(columns, size, np.float32),
        np.int32(len(at)),
    )


# Soft suppression: each selected box lowers the scores of the boxes that it overlaps

MOST_BEST = 1024
"""Boxes for which weights are computed once for all."""
MOST_WEIGHTS = 1 << 22
"""Weights that are kept at most: one for each of these boxes and each selected one."""


def select_softly(
    scores: Any, overlap: Overlap, count: int, least: Any, sigma: Any
) -> tuple[list[int], list[Any]]:
    """The indices of at most `count` boxes and their scores, which are above `least`.

    As in TensorFlow, a score is lowered only when it is the best one: by the boxes selected since the last
    time, the last of them first.
    """
    dtype = scores.dtype.type
    least = dtype(least)
    candidates = np.flatnonzero(scores > least)
    pairs = zip(scores[candidates].tolist(), candidates.tolist(), strict=True)
    waiting = sorted((-score, box, 0) for score, box in pairs)
    best = [box for _, box, _ in waiting[: min(MOST_BEST, MOST_WEIGHTS // max(count, 1))]]
    taken: list[int] = []
    left: list[Any] = []
    weights = _Weights(overlap, best, dtype(-0.5) / sigma, dtype)
    while waiting and len(taken) < count:
        negative, box, seen = heapq.heappop(waiting)
        score = before = dtype(-negative)
        for weight in weights.of(box, taken, seen) if seen < len(taken) else ():
            score = score * weight
            if score <= least:
                break
        if score == before:
            taken.append(box)
            left.append(score)
        elif score > least:
            heapq.heappush(waiting, (-float(score), box, len(taken)))
    return taken, left


class _Weights:
    """By how much selected boxes lower the scores of others.

    For the boxes with the best scores, which are asked about again and again, it is computed once for all.
    """

    def __init__(self, overlap: Overlap, best: list[int], scale: Any, dtype: type[np.generic]) -> None:
        self._overlap, self._scale, self._dtype = overlap, scale, dtype
        self._best = np.array(best, np.int64)
        self._column = {box: column for column, box in enumerate(best)}
        self._rows: list[Any] = []

    def of(self, box: int, taken: list[int], seen: int) -> Iterable[Any]:
        """The weights for a box of those selected after the first `seen` ones, the last first."""
        column = self._column.get(box)
        if column is None:
            between: Iterable[Any] = self._between(box, np.array(taken[seen:][::-1], np.int64))
            return between
        while len(self._rows) < len(taken):
            self._rows.append(self._between(taken[len(self._rows)], self._best))
        return (row[column] for row in self._rows[seen:][::-1])

    def _between(self, box: int, others: Any) -> Any:
        near = self._overlap(box, others).astype(self._dtype)
        return np.exp((self._scale * near * near).astype(np.float32)).astype(self._dtype)
