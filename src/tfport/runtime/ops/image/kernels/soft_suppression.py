"""Soft suppression: each selected box lowers the scores of the boxes that it overlaps.

As in TensorFlow, a score is lowered only when it is the best one: by the boxes selected since the last time,
the last of them first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

Overlap = Callable[[int, Any], Any]
"""Function of a box index and an array of others: the overlap of the box with each of them."""
MOST_BEST = 1024
"""Boxes for which weights are computed once for all."""
MOST_WEIGHTS = 1 << 22
"""Weights that are kept at most: one for each of these boxes and each selected one."""


def select_softly(
    scores: Any, overlap: Overlap, count: int, least: Any, sigma: Any
) -> tuple[list[int], list[Any]]:
    """The indices of at most `count` boxes and their scores, which are above `least`."""
    kind = scores.dtype.type
    least = kind(least)
    candidates = np.flatnonzero(scores > least)
    pairs = zip(scores[candidates].tolist(), candidates.tolist(), strict=True)
    waiting = sorted((-score, box, 0) for score, box in pairs)
    best = [box for _, box, _ in waiting[: min(MOST_BEST, MOST_WEIGHTS // max(count, 1))]]
    taken: list[int] = []
    left: list[Any] = []
    weights = _Weights(overlap, best, kind(-0.5) / sigma, kind)
    while waiting and len(taken) < count:
        negative, box, seen = heapq.heappop(waiting)
        score = before = kind(-negative)
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

    def __init__(self, overlap: Overlap, best: list[int], scale: Any, kind: type[np.generic]) -> None:
        self._overlap, self._scale, self._kind = overlap, scale, kind
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
        near = self._overlap(box, others).astype(self._kind)
        return np.exp((self._scale * near * near).astype(np.float32)).astype(self._kind)
