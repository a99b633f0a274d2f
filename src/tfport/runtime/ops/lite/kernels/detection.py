"""Detections from boxes, scores and anchors: `TFLite_Detection_PostProcess`, and non-maximum suppression."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host

PART, MANY = 256, 1024
"""Of many boxes, how many are looked at first; sorting all takes longer than suppression."""


@host("TFLite_Detection_PostProcess")
def detections(
    box_encodings,
    class_predictions,
    anchors,
    *,
    max_detections,
    max_classes_per_detection,
    detections_per_class,
    use_regular_nms,
    nms_score_threshold,
    nms_iou_threshold,
    num_classes,
    y_scale,
    x_scale,
    h_scale,
    w_scale,
):
    boxes, scores = box_encodings, class_predictions
    if boxes.shape[:1] != (1,) or scores.shape[:2] != boxes.shape[:2]:
        raise RunFailed(
            f"the boxes have the shape {boxes.shape} and the scores {scores.shape}, expected one image"
        )
    background = scores.shape[2] - num_classes
    if background not in (0, 1):
        raise RunFailed(f"there are scores of {scores.shape[2]} classes, expected {num_classes} or one more")
    corners = _corners(boxes[0], anchors, (y_scale, x_scale, h_scale, w_scale))
    if (corners[:, :2] > corners[:, 2:]).any():
        raise RunFailed("a box ends before it begins")
    of_classes = scores[0][:, background:]
    suppressor = _Suppressor(corners, np.float32(nms_score_threshold), np.float32(nms_iou_threshold))
    if use_regular_nms:
        per_class = min(detections_per_class, max_detections)
        rows = _by_class(suppressor, of_classes, per_class, max_detections)
        room, count = max_detections, len(rows)
    else:
        classes = min(max_classes_per_detection, num_classes)
        chosen = suppressor.best(of_classes.max(axis=1, initial=-np.inf), max_detections)
        order = np.argsort(-of_classes[chosen], axis=1, kind="stable")[:, :classes]
        room, count = max_detections * max_classes_per_detection, len(chosen)
        rows = [(box, column) for box, columns in zip(chosen, order, strict=True) for column in columns]
        step = max_classes_per_detection
        rows_at = [index * step + within for index in range(count) for within in range(classes)]
        return _filled(corners, of_classes, rows, rows_at, room, count)
    return _filled(corners, of_classes, rows, range(count), room, count)


def _corners(boxes: Any, anchors: Any, scales: Any) -> Any:
    """Top, left, bottom and right of boxes that are stored as centers and sizes relative to anchors."""
    wide, base = boxes[:, :4].astype(np.float64), anchors.astype(np.float64)
    by = np.asarray(scales, np.float32).astype(np.float64)
    center = (wide[:, :2] / by[:2] * base[:, 2:] + base[:, :2]).astype(np.float32)
    half = (0.5 * np.exp(wide[:, 2:] / by[2:]) * base[:, 2:]).astype(np.float32)
    return np.concatenate([center - half, center + half], axis=1)


class _Suppressor:
    """Of boxes that overlap, chooses the one with the best score."""

    def __init__(self, corners: Any, least: Any, most_overlap: Any) -> None:
        self.corners, self.least, self.most_overlap = corners, least, most_overlap
        self.areas = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])

    def best(self, scores: Any, limit: int, least: Any = -np.inf) -> list[int]:
        """The indices of the boxes that stay, the best first, with no score below `least`."""
        chosen: list[int] = []
        for left in _best_first(np.flatnonzero(scores >= max(self.least, least)), scores):
            if len(chosen) >= limit:
                break
            for box in chosen:
                left = self._apart(box, left)
            while len(left) and len(chosen) < limit:
                chosen.append(int(left[0]))
                left = self._apart(left[0], left[1:])
        return chosen

    def _apart(self, box: Any, others: Any) -> Any:
        """Those of the others that overlap little with a box."""
        return others[self._overlaps(box, others) <= self.most_overlap]

    def _overlaps(self, box: Any, others: Any) -> Any:
        """The intersection over the union with each of the others."""
        mine, theirs = self.corners[box], self.corners[others]
        sides = np.minimum(mine[2:], theirs[:, 2:]) - np.maximum(mine[:2], theirs[:, :2])
        shared = np.maximum(sides, np.float32(0)).prod(axis=1)
        either = self.areas[box] + self.areas[others] - shared
        has_area = (self.areas[box] > 0) & (self.areas[others] > 0)
        return np.divide(shared, either, out=np.zeros_like(shared), where=has_area)


def _best_first(boxes: Any, scores: Any) -> Iterator[Any]:
    """The boxes, the best first, in two parts: the first one is usually enough."""
    if len(boxes) > MANY:
        losses = -scores[boxes]
        are_first = losses <= np.partition(losses, PART)[PART]
        yield _sorted(boxes[are_first], scores)
        boxes = boxes[~are_first]
    yield _sorted(boxes, scores)


def _sorted(boxes: Any, scores: Any) -> Any:
    return boxes[np.argsort(-scores[boxes], kind="stable")]


def _by_class(suppressor: _Suppressor, scores: Any, per_class: int, limit: int) -> list[tuple[int, int]]:
    """The best boxes of all classes, each suppressed only by those of its own class."""
    rows: list[tuple[int, int]] = []
    least = -np.inf
    for column, of_class in enumerate(scores.T):
        rows += [(box, column) for box in suppressor.best(of_class, per_class, least)]
        rows = sorted(rows, key=lambda row: -scores[row])[:limit]
        if len(rows) == limit > 0:
            # of equal scores, that of the earlier class stays
            least = np.nextafter(scores[rows[-1]], np.float32(np.inf))
    return rows


def _filled(corners: Any, scores: Any, rows: Any, positions: Any, room: int, count: int) -> Any:
    """The outputs: chosen boxes with their classes and scores, then zeros."""
    boxes, classes, chosen = np.zeros((1, room, 4), np.float32), *np.zeros((2, 1, room), np.float32)
    for position, (box, column) in zip(positions, rows, strict=True):
        boxes[0, position], classes[0, position], chosen[0, position] = (
            corners[box],
            column,
            scores[box, column],
        )
    return boxes, classes, chosen, np.array([count], np.float32)


@host("LiteNonMaxSuppression")
def non_max_suppression(boxes, scores, most, overlap, lowest, sigma):
    """Unlike in TensorFlow, a box that overlaps a selected one by the limit is left out, also with a `sigma`.

    A `sigma` lowers the scores of boxes that overlap less. A selected box is a candidate again: it overlaps
    itself and is left out, unless it has no area.
    """
    limit, factor = max(0, int(most)), np.float32(-0.5) / sigma if sigma > 0 else np.float32(0)
    corners = np.concatenate(
        [np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])], 1
    )
    queue = [(-score, index, 0) for index, score in enumerate(scores) if score > lowest]
    heapq.heapify(queue)
    wanted = min(limit, len(queue))
    selected, kept = np.zeros(limit, np.int32), np.zeros(limit, np.float32)
    count = 0
    while count < wanted and queue:
        negative, index, begin = heapq.heappop(queue)
        shares = _overlaps(corners[index], corners[selected[begin:count]])[::-1]
        score = _lowered(-negative, shares, factor, lowest)
        if (shares >= overlap).any() and score > lowest:
            continue
        if score == -negative:
            selected[count], kept[count] = index, score
            begin, count = count, count + 1
        else:
            begin = count
        if score > lowest:
            heapq.heappush(queue, (-score, index, begin))
    return selected, kept, np.int32(count)


def _lowered(score, shares, factor, lowest):
    """The score after each overlap, until it is too low."""
    if not factor:
        return score
    for share in shares:
        if score <= lowest:
            break
        score = score * np.exp(factor * share * share)
    return score


def _overlaps(box, others):
    """The intersections of a box with others, relative to their unions."""
    area = np.prod(box[2:] - box[:2])
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1)
    sizes = np.minimum(others[:, 2:], box[2:]) - np.maximum(others[:, :2], box[:2])
    common = np.prod(np.maximum(sizes, 0), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((area > 0) & (areas > 0), common / (area + areas - common), np.float32(0))
