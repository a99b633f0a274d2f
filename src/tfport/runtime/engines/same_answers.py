"""Whether OpenVINO may answer in place of ONNX Runtime: for which inputs, and with which answers.

Where TensorFlow and ONNX Runtime pass NaN on, its Relu, Max or MaxPool drop it, and on ARM64 it computes with
integers as float32. So it gets ordinary numbers only, and nodes that make no others of them
(`openvino_nodes`). What it answers in a race must be what ONNX Runtime answers, within the accuracy of the
runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

TOLERANCES = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}
"""The largest difference of two engines, as a part of the largest answer."""
LARGEST = 1e9
"""Floats beyond this are not ordinary: sums of their products may overflow."""
LARGEST_INTEGER = 2**24
"""Integers beyond this are not ordinary: float32 has not all of them."""
_LIMITS = {
    **dict.fromkeys(TOLERANCES, LARGEST),
    **dict.fromkeys(("int32", "int64", "uint32", "uint64"), LARGEST_INTEGER),
}


def are_ordinary(arrays: Sequence[Any]) -> bool:
    """Whether inputs have elements, and all are numbers of a usual size."""
    return all(a.size and _is_within(a, _LIMITS.get(a.dtype.name)) for a in arrays)


def _is_within(array: Any, limit: float | None) -> bool:
    return limit is None or (float(array.min()) > -limit and float(array.max()) < limit)


def agree(expected: Sequence[Any], answers: Sequence[Any]) -> bool:
    """Whether two engines give the same answers: equal, and floats within the tolerance."""
    return len(expected) == len(answers) and all(map(_agrees, expected, answers))


def _agrees(expected: Any, answer: Any) -> bool:
    if expected.dtype != answer.dtype or expected.shape != answer.shape:
        return False
    tolerance = TOLERANCES.get(expected.dtype.name)
    if tolerance is None:
        return bool(np.array_equal(expected, answer))
    finite = np.isfinite(expected)
    if not np.array_equal(expected[~finite], answer[~finite], equal_nan=True):
        return False
    right, actual = (array[finite].astype(np.float64) for array in (expected, answer))
    difference = np.abs(actual - right).max(initial=0)
    return bool(difference <= tolerance * np.abs(right).max(initial=0))
