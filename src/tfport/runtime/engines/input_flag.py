"""The flag of an island: an output that is not 0 if the engine's kernels do not handle the inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.runtime.engines.engine import NumbersRefused


def check_flag(flag: Any) -> None:
    """Raise NumbersRefused, so that the host computes the answer or says what is wrong."""
    if np.asarray(flag):
        raise NumbersRefused(
            "an index is out of range, or a recurrent layer reads a number that is not finite"
        )
