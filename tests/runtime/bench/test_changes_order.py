import numpy as np
import pytest

from tfport.runtime.bench.worker import changes_order

SCORES = np.array([[0.1, 0.9], [0.8, 0.2]], np.float32)


@pytest.mark.parametrize(
    ("expected", "answer", "changes"),
    [
        (SCORES, SCORES * np.float32(1.001), False),
        (np.array([0.5, 0.5001], np.float32), np.array([0.5001, 0.5], np.float32), True),
        (SCORES, SCORES[::-1], True),
        (SCORES, SCORES[:1], True),
        (np.array([3, 1]), np.array([1, 3]), True),
        (np.array([3, 1]), np.array([3, 1]), False),
        (np.array([b"a"], object), np.array([b"b"], object), False),
        (np.array(2, np.float32), np.array(2.001, np.float32), False),
        (np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32), False),
    ],
)
def test_changes_order(expected, answer, changes):
    assert changes_order({"y": expected}, {"y": answer}) is changes
