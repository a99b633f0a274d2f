"""Boxes that are taken from a heap one by one are those of the whole order."""

import numpy as np
import pytest

from tfport.runtime.ops.image.kernels.non_max_suppression import _select_popped, overlaps, select_best
from tfport.runtime.ops.image.tie_order import popped


@pytest.mark.parametrize("count", [1, 5, 40, 100])
@pytest.mark.parametrize("places", [0, 1, 2, 8])
@pytest.mark.parametrize("flat", [False, True])
def test_boxes_from_a_heap(count, places, flat):
    random = np.random.default_rng(places)
    corners = random.random((60, 2))
    boxes = np.concatenate([corners, corners + random.random((60, 2)) * 0.4], 1).astype(np.float32)
    if flat:
        boxes[20:, 2:] = boxes[20:, :2]
    scores = np.round(random.random(60), places).astype(np.float32)
    candidates = np.arange(0, 60, 2)
    whole = candidates[list(popped(scores[candidates]))]
    assert sorted(whole) == candidates.tolist()
    taken = _select_popped(candidates, scores[candidates], overlaps(boxes), np.float32(0.3), count)
    assert taken == select_best(whole, overlaps(boxes), np.float32(0.3), count)
    assert (np.diff(scores[taken]) <= 0).all()
