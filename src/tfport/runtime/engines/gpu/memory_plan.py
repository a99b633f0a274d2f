"""Where tensors lie in one block of memory, so that those that are needed at the same time do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

ALIGNMENT = 256
"""Of addresses, as CUDA's libraries assume it."""


class Lifetime(NamedTuple):
    """How many bytes are needed, from one step to another."""

    size: int
    first: int
    last: int


def offsets_of(lifetimes: Sequence[Lifetime]) -> tuple[list[int], int]:
    """The offset of each in the block, and the size of the block; the largest are placed first."""
    placed: list[tuple[int, int, Lifetime]] = []
    offsets = [0] * len(lifetimes)
    for number in sorted(range(len(lifetimes)), key=lambda n: -lifetimes[n].size):
        needed = lifetimes[number]
        size = -(-needed.size // ALIGNMENT) * ALIGNMENT
        offset = 0
        for begin, end, other in placed:  # by their offsets
            meets = other.first <= needed.last and needed.first <= other.last
            if meets and offset + size > begin:
                offset = max(offset, end)
        placed.append((offset, offset + size, needed))
        placed.sort(key=lambda block: block[0])
        offsets[number] = offset
    return offsets, max((end for _, end, _ in placed), default=0)
