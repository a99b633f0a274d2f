"""The logistic function, with a small relative error also where it is tiny."""

from __future__ import annotations

from typing import Any

import numpy as np


def sigmoid(x: Any) -> Any:
    # exp overflows only where the result is less than the smallest normal number: it becomes zero
    return 1 / (1 + np.exp(-x))
