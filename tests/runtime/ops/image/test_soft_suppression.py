"""Soft suppression, compared with what TensorFlow's source says, one box and one rival at a time."""

import numpy as np
import pytest

from tfport.runtime.ops.image.kernels import non_max_suppression
from tfport.runtime.ops.image.kernels.non_max_suppression import overlaps

LEAST, SIGMA = np.float32(0.05), np.float32(0.4)


def one_by_one(scores, overlap, count):
    """The indices and the scores; of equal scores, the one with the lower index is first."""
    waiting = {i: (scores[i], 0) for i in range(len(scores)) if scores[i] > LEAST}
    taken, left = [], []
    while waiting and len(taken) < count:
        box = min(waiting, key=lambda i: (-waiting[i][0], i))
        before, seen = waiting.pop(box)
        score = before
        for rival in taken[seen:][::-1]:
            near = overlap(box, np.array([rival]))
            score = score * np.exp(np.float32(-0.5) / SIGMA * near * near)[0]
            if score <= LEAST:
                break
        if score == before:
            taken.append(box)
            left.append(score)
        elif score > LEAST:
            waiting[box] = (score, len(taken))
    return taken, left


@pytest.mark.parametrize("best", [0, 1, 7, non_max_suppression.MOST_BEST])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("count", [1, 12, 60])
def test_it_selects_as_tensorflow_does(monkeypatch, best, ties, count):
    monkeypatch.setattr(non_max_suppression, "MOST_BEST", best)
    rng = np.random.default_rng(count)
    corners = rng.random((60, 2), np.float32)
    overlap = overlaps(np.concatenate([corners, corners + rng.random((60, 2), np.float32) / 3], 1))
    scores = rng.random(60, np.float32)
    scores = np.round(scores, 1) if ties else scores
    selected = non_max_suppression.select_softly(scores, overlap, count, LEAST, SIGMA)
    assert selected == one_by_one(scores, overlap, count)
    assert selected[0]


def test_overlaps_are_not_computed_for_a_single_candidate():
    def fails(box, others):
        raise AssertionError

    scores = np.float32([0.01, 0.9, 0.02])
    assert non_max_suppression.select_softly(scores, fails, 5, LEAST, SIGMA) == ([1], [np.float32(0.9)])
