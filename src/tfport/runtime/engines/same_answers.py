"""Whether another engine may answer in place of ONNX Runtime: for which inputs, and with which answers.

Where TensorFlow and ONNX Runtime pass NaN on, the Relu, Max or MaxPool of OpenVINO drop it, and on ARM64 it
computes with integers as float32. So the others get ordinary numbers only, and nodes that make no others of
them (`openvino_nodes`, `litert_nodes`). What they answer in a race must be what ONNX Runtime answers, within
the accuracy of the runtime (`race`).
"""

from __future__ import annotations

import math
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
    **dict.fromkeys(map(np.dtype, TOLERANCES), LARGEST),
    **dict.fromkeys(map(np.dtype, ("int32", "int64", "uint32", "uint64")), LARGEST_INTEGER),
}


def are_ordinary(arrays: Sequence[Any]) -> bool:
    """Whether inputs have elements, and all are numbers of a usual size."""
    return all(a.size and _is_within(a, _LIMITS.get(a.dtype)) for a in arrays)


def _is_within(array: Any, limit: float | None) -> bool:
    return limit is None or (float(array.min()) > -limit and float(array.max()) < limit)


def agree(expected: Sequence[Any], answers: Sequence[Any], tolerances: Sequence[float] | None = None) -> bool:
    """Whether two engines give the same answers: equal, and floats within the tolerance.

    `tolerances` are those of the answers, where they are larger than the usual ones of their types.
    """
    if len(expected) != len(answers):
        return False
    larger = tolerances or [0.0] * len(expected)
    return all(
        difference(right, answer) <= max(tolerance, TOLERANCES.get(right.dtype.name, 0.0))
        for right, answer, tolerance in zip(expected, answers, larger, strict=True)
    )


def difference(expected: Any, answer: Any) -> float:
    """The largest difference of an answer, as a part of the largest number; infinity for other elements.

    Elements that are not floats, and floats that are not finite, must be equal.
    """
    if expected.dtype != answer.dtype or expected.shape != answer.shape:
        return math.inf
    if expected.dtype.name not in TOLERANCES:
        return 0.0 if np.array_equal(expected, answer) else math.inf
    finite = np.isfinite(expected)
    if not np.array_equal(expected[~finite], answer[~finite], equal_nan=True):
        return math.inf
    right, actual = (array[finite].astype(np.float64) for array in (expected, answer))
    furthest = float(np.abs(actual - right).max(initial=0))
    return furthest / float(np.abs(right).max()) if furthest else 0.0
