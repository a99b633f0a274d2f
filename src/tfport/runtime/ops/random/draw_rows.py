"""Several draws of nodes at once: what each would draw in runs one after another, as rows.

Nodes whose generators have the same key are drawn together, as NumPy's calls take most of the time of a few
blocks. Ops with a seed have the key of their graph, which is the same for all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfport.runtime.lower import Context
from tfport.runtime.ops.random.distributions import (
    RESERVED,
    Convert,
    as_normal,
    as_uniform,
    group_of,
    size_of,
)
from tfport.runtime.ops.random.philox import generator_of, joint_blocks

DRAWS: Mapping[str, Convert] = {"RandomUniform": as_uniform, "RandomStandardNormal": as_normal}
"""The ops that are drawn so: how they convert blocks to numbers."""


class RowDraw(NamedTuple):
    """The rows of one node: how it is seeded, and their shape."""

    context: Context
    seeds: tuple[int, int]
    dims: tuple[int, ...]

    @property
    def dtype(self) -> Any:
        return self.context.outputs[0].numpy


def draw_rows(draws: Sequence[RowDraw], rows: int) -> list[Any]:
    """`rows` draws of each node."""
    drawn: list[Any] = [None] * len(draws)
    by_key: dict[int, list[tuple[int, int, Any]]] = defaultdict(list)
    for index, draw in enumerate(draws):
        size = size_of(draw.dims)
        philox = generator_of(draw.context, *draw.seeds).reserve(rows * size * RESERVED)
        starts = np.arange(rows, dtype=np.uint64) * np.uint64(size * RESERVED)
        reach = starts[:, None] + np.arange(-(-size // group_of(draw.dtype)), dtype=np.uint64)
        by_key[philox.key].append((index, philox.counter, reach.reshape(-1)))
    for key, parts in by_key.items():
        blocks = joint_blocks(key, [(counter, offsets) for _, counter, offsets in parts])
        for (index, _, _), words in zip(parts, blocks, strict=True):
            drawn[index] = _as_rows(draws[index], rows, words)
    return drawn


def _as_rows(draw: RowDraw, rows: int, words: Any) -> Any:
    size = size_of(draw.dims)
    numbers = DRAWS[draw.context.op](words, draw.dtype)
    return numbers.reshape(rows, -1)[:, :size].reshape(rows, *draw.dims)
