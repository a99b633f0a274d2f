"""Compute a node while planning, where all of its inputs are constant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.errors import Error
from tfport.graph.dtypes import DType
from tfport.runtime.operand import Operand
from tfport.runtime.program import Run

MAX_FOLDED_BYTES = 1 << 24
"""The largest outputs that are folded, unless the inputs are at least half as large."""


def fold(
    run: Run,
    inputs: Sequence[Operand],
    types: Sequence[DType],
    name: str,
    size_of: Callable[[Sequence[Any]], int],
) -> list[Operand] | None:
    """The outputs as constants; None where an input is not constant, or only a run shows the error.

    `size_of`: the size of the outputs as far as it is known before they are computed.
    """
    values = [operand.value for operand in inputs]
    if any(value is None for value in values):
        return None
    size_before = sum(v.nbytes for v in values if isinstance(v, np.ndarray))
    most = max(MAX_FOLDED_BYTES, 2 * size_before)
    if size_of(values) > most:
        return None
    try:
        with np.errstate(all="ignore"):
            outputs = run(values)
    except (Error, MemoryError):
        return None
    size_after = sum(a.nbytes for a in outputs if isinstance(a, np.ndarray))
    if size_after > most or any(a is None for a in outputs):
        return None
    return [Operand(t, value=a, name=name) for t, a in zip(types, outputs, strict=True)]
