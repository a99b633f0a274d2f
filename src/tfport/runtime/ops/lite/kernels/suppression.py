"""Non-maximum suppression as TensorFlow Lite does it.

Unlike TensorFlow's, a box that overlaps a selected one by the limit is left out, also where a `sigma` lowers
the scores of boxes that overlap less. A selected box is a candidate again: it overlaps itself and is left
out, unless it has no area.
"""

from __future__ import annotations

import heapq

import numpy as np

from tfport.runtime.lower import host


@host("LiteNonMaxSuppression")
def non_max_suppression(boxes, scores, most, overlap, lowest, sigma):
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
