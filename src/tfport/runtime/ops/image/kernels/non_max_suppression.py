"""Non-maximum suppression: of boxes that overlap, the ones with the best scores."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, shapes
from tfport.runtime.ops.image.tie_order import popped_order, sorted_order

Similar = Callable[[int, Any], Any]
"""How much one box overlaps others: float32."""


@shapes("NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionWithOverlaps")
def _chosen(inputs, attrs):
    return [(None,)]


@shapes("NonMaxSuppressionV4")
def _chosen_and_count(inputs, attrs):
    return [(None,), ()]


@shapes("NonMaxSuppressionV5")
def _chosen_with_scores(inputs, attrs):
    return [(None,), (None,), ()]


@shapes("CombinedNonMaxSuppression")
def _detected(inputs, attrs):
    batch = inputs[0].shape[0] if inputs[0].shape else None
    return [(batch, None, 4), (batch, None), (batch, None), (batch,)]


def _scalar(value: Any, what: str) -> Any:
    if value.ndim:
        raise RunFailed(f"{what} must be a scalar, and has the shape {list(value.shape)}")
    return value[()]


def _count(max_output_size: Any) -> int:
    count = int(_scalar(max_output_size, "max_output_size"))
    if count < 0:
        raise RunFailed(f"max_output_size must not be negative, and is {count}")
    return count


def _fraction(threshold: Any, what: str = "iou_threshold") -> Any:
    value = _scalar(np.asarray(threshold), what)
    if not 0 <= value <= 1:
        raise RunFailed(f"{what} must be between 0 and 1, and is {value}")
    return value


def overlaps(boxes: Any) -> Similar:
    """Intersection over union of one box with others; corners may come in any order."""
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise RunFailed(f"boxes must have the shape [n, 4], and have {list(boxes.shape)}")
    wide = boxes.astype(np.float32)
    low, high = np.minimum(wide[:, :2], wide[:, 2:]), np.maximum(wide[:, :2], wide[:, 2:])
    sides = high - low
    areas = sides[:, 0] * sides[:, 1]

    def similar(one: int, others: Any) -> Any:
        common = np.minimum(high[one], high[others]) - np.maximum(low[one], low[others])
        common = np.maximum(common, np.float32(0))
        shared = common[:, 0] * common[:, 1]
        found = shared / (areas[one] + areas[others] - shared)
        return np.where((areas[one] <= 0) | (areas[others] <= 0), np.float32(0), found)

    return similar


def _given(overlap: Any) -> Similar:
    if overlap.ndim != 2 or overlap.shape[0] != overlap.shape[1]:
        raise RunFailed(f"overlaps must be a square matrix, and have the shape {list(overlap.shape)}")
    return lambda one, others: overlap[others, one]


def _checked_scores(scores: Any, count: int) -> None:
    if scores.shape != (count,):
        raise RunFailed(f"scores must have the shape [{count}], and have {list(scores.shape)}")


def best(order: Any, similar: Similar, threshold: Any, count: int) -> list[int]:
    """Boxes of an order, each taken unless it is too similar to one taken before."""
    taken: list[int] = []
    while len(order) and len(taken) < count:
        one, order = order[0], order[1:]
        taken.append(int(one))
        order = order[~(similar(one, order) > threshold)]
    return taken


def _selected(scores: Any, similar: Similar, count: int, threshold: Any, least: Any) -> list[int]:
    there = np.flatnonzero(scores > least)
    order = there[np.argsort(-scores[there].astype(np.float64), kind="stable")]
    kind = scores.dtype.type
    return best(order, lambda one, others: similar(one, others).astype(kind), kind(threshold), count)


def _softly(scores: Any, similar: Similar, count: int, least: Any, sigma: Any) -> tuple[list[int], list[Any]]:
    """Scores sink with each similar box that is taken, and boxes are taken by what is left of them."""
    kind = scores.dtype.type
    scale, least = kind(-0.5) / sigma, kind(least)
    waiting = [(-score, int(i), 0) for i, score in enumerate(scores) if score > least]
    heapq.heapify(waiting)
    taken: list[int] = []
    left: list[Any] = []
    while waiting and len(taken) < count:
        negative, one, seen = heapq.heappop(waiting)
        score = before = kind(-negative)
        rivals = np.array(taken[seen:][::-1], np.int64)
        near = similar(one, rivals).astype(kind)
        for weight in np.exp((scale * near * near).astype(np.float32)).astype(kind):
            score = kind(score * weight)
            if score <= least:
                break
        if score == before:
            taken.append(one)
            left.append(score)
        elif score > least:
            heapq.heappush(waiting, (-score, one, len(taken)))
    return taken, left


def _padded(found: list[Any], size: int, kind: Any) -> Any:
    out = np.zeros(size, kind)
    out[: len(found)] = found
    return out


LOWEST = float(np.finfo(np.float32).min)


@host("NonMaxSuppression")
def nms(boxes, scores, max_output_size, *, iou_threshold):
    return _hard(boxes, scores, max_output_size, np.float32(iou_threshold), np.float32(LOWEST))


@host("NonMaxSuppressionV2")
def nms_v2(boxes, scores, max_output_size, iou_threshold):
    lowest = np.finfo(scores.dtype).min
    return _hard(boxes, scores, max_output_size, iou_threshold, lowest)


@host("NonMaxSuppressionV3")
def nms_v3(boxes, scores, max_output_size, iou_threshold, score_threshold):
    return _hard(boxes, scores, max_output_size, iou_threshold, _scalar(score_threshold, "score_threshold"))


def _hard(boxes: Any, scores: Any, max_output_size: Any, iou_threshold: Any, least: Any) -> Any:
    similar = overlaps(boxes)
    _checked_scores(scores, len(boxes))
    threshold, count = _fraction(iou_threshold), _count(max_output_size)
    return np.array(_selected(scores, similar, count, threshold, scores.dtype.type(least)), np.int32)


@host("NonMaxSuppressionV4")
def nms_v4(boxes, scores, max_output_size, iou_threshold, score_threshold, *, pad_to_max_output_size):
    found = nms_v3(boxes, scores, max_output_size, iou_threshold, score_threshold)
    padded = _padded(found, _count(max_output_size), np.int32) if pad_to_max_output_size else found
    return padded, np.array(len(found), np.int32)


@host("NonMaxSuppressionV5")
def nms_v5(
    boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma, *, pad_to_max_output_size
):
    similar, count = overlaps(boxes), _count(max_output_size)
    _checked_scores(scores, len(boxes))
    threshold, least = _fraction(iou_threshold), _scalar(score_threshold, "score_threshold")
    sigma = _scalar(soft_nms_sigma, "soft_nms_sigma")
    if sigma < 0:
        raise RunFailed(f"soft_nms_sigma must not be negative, and is {sigma}")
    if sigma > 0:
        found, left = _softly(scores, similar, count, least, sigma)
    else:
        found = _selected(scores, similar, count, threshold, least)
        left = scores[np.array(found, np.int64)].tolist()
    size = count if pad_to_max_output_size else len(found)
    kept = _padded(found, size, np.int32), _padded(left, size, scores.dtype)
    return *kept, np.array(len(found), np.int32)


@host("NonMaxSuppressionWithOverlaps")
def nms_with_overlaps(overlaps, scores, max_output_size, overlap_threshold, score_threshold):
    similar = _given(overlaps)
    _checked_scores(scores, len(overlaps))
    threshold = _scalar(overlap_threshold, "overlap_threshold")
    least = _scalar(score_threshold, "score_threshold")
    return np.array(_selected(scores, similar, _count(max_output_size), threshold, least), np.int32)


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
        raise RunFailed("max_output_size_per_class and max_total_size must be positive")
    if boxes.ndim != 4 or boxes.shape[3] != 4 or scores.ndim != 3 or boxes.shape[:2] != scores.shape[:2]:
        raise RunFailed(f"boxes {list(boxes.shape)} and scores {list(scores.shape)} do not belong together")
    classes = scores.shape[2]
    if boxes.shape[2] not in (1, classes):
        raise RunFailed(f"boxes must be of 1 or of {classes} classes, and are of {boxes.shape[2]}")
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


def _image(
    boxes: Any, scores: Any, per_class: int, size: int, threshold: Any, least: Any, clip: bool
) -> tuple[Any, Any, Any, Any]:
    """The best boxes of one image over all classes: boxes, scores, classes, and how many there are."""
    room, classes = min(per_class, len(scores)), scores.shape[1]
    places, found = np.full((classes, room), -1), np.full((classes, room), -np.inf, np.float32)
    for k in range(classes):
        there = np.flatnonzero(scores[:, k] > least)
        similar = overlaps(boxes[:, min(k, boxes.shape[1] - 1)])
        taken = best(there[popped_order(scores[there, k])], similar, threshold, room)
        places[k, : len(taken)], found[k, : len(taken)] = taken, scores[taken, k]
    order = sorted_order(found.reshape(-1))[: min(size, np.count_nonzero(places >= 0))]
    at, kinds = places.reshape(-1)[order], order // max(room, 1)
    kept = boxes[at, np.minimum(kinds, boxes.shape[1] - 1)]
    out = np.zeros((size, 4), np.float32)
    out[: len(at)] = np.clip(kept, 0, 1) if clip else kept
    return (
        out,
        _padded(scores[at, kinds], size, np.float32),
        _padded(kinds, size, np.float32),
        np.int32(len(at)),
    )
