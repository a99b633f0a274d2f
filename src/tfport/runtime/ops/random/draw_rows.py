"""Several draws of a node at once: what it would draw in runs one after another, as rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfport.runtime.ops.random.distributions import (
    RESERVED,
    Convert,
    as_normal,
    as_uniform,
    group_of,
    size_of,
)
from tfport.runtime.ops.random.philox import generator_of

DRAWS: Mapping[str, Convert] = {"RandomUniform": as_uniform, "RandomStandardNormal": as_normal}
"""The ops that are drawn so: how they convert blocks to numbers."""


def draw_rows(context: Any, seeds: tuple[int, int], rows: int, dims: tuple[int, ...], kind: Any) -> Any:
    """`rows` draws of the node of `context`, each of the shape `dims`."""
    size = size_of(dims)
    philox = generator_of(context, *seeds).reserve(rows * size * RESERVED)
    starts = np.arange(rows, dtype=np.uint64) * np.uint64(size * RESERVED)
    reach = starts[:, None] + np.arange(-(-size // group_of(kind)), dtype=np.uint64)
    numbers = DRAWS[context.op](philox.blocks(reach), kind)
    return numbers.reshape(rows, -1)[:, :size].reshape(rows, *dims)
