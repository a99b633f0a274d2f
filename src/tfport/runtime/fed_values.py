"""The fed values that a plan is made for.

TF1 models feed switches: `is_training`, `keep_prob`. A plan for `is_training=False` has no training
branch, and one for `keep_prob=1.0` no dropout. So a plan is made for each value of a fed boolean, and
for 0 and 1 of a fed floating-point scalar; other values share one plan. `plan_cache` limits their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.operand import Dims
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class FedValue:
    """A value that a plan treats as constant."""

    value: bool | float


def special_value(declared: Dims | None, array: NDArray[Any]) -> FedValue | None:
    """The value of a fed switch; None for an ordinary input."""
    if array.ndim or declared:
        return None
    if array.dtype.kind == "b":
        return FedValue(bool(array))
    if array.dtype.kind == "f" and array in (0, 1) and not np.signbit(array):
        return FedValue(float(array))
    return None
