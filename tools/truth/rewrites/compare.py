"""What the records hold of the difference of an output, which `tfport fix` measures and judges."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tfport.fix.certify.compare import OutputDifference

FAR = float("inf")


def measures(difference: OutputDifference) -> dict[str, Any]:
    """The largest differences of an output; of integers, bools and strings how many elements differ."""
    return {
        "dtype": difference.dtype,
        "judged_as": difference.judged_as,
        "elements": difference.elements,
        "absolute": difference.absolute,
        "relative": relative(difference),
        "ulps": difference.ulps,
        "differ": difference.unequal,
    }


def relative(difference: OutputDifference) -> float:
    """The absolute difference divided by the largest expected number."""
    if not difference.absolute:
        return 0.0
    return difference.absolute / difference.largest if difference.largest else FAR


def spread(answers: Iterable[np.ndarray]) -> float | None:
    """How far rows of answers are from the first, beside the largest number; None where there is but one.

    Of strings it is 1 where they differ. A model that always says the same is that far off.
    """
    arrays = [np.atleast_1d(a) for a in answers]
    rows = np.concatenate([a for a in arrays if a.shape[1:] == arrays[0].shape[1:]])
    if len(rows) < 2 or not rows.size:
        return None
    if rows.dtype == object:
        return float((rows != rows[:1]).any())
    numbers = rows if rows.dtype.kind == "c" else rows.astype(np.float64)
    numbers = np.where(np.isfinite(numbers), numbers, 0)
    scale = float(np.abs(numbers).max())
    return float(np.abs(numbers - numbers[:1]).max()) / scale if scale else 0.0
