"""Which memory of the host is pinned, and pinned buffers that are used again.

pin(memory, copies)                     for all devices of this process
PINNED.has(array)
PinnedPool(copies).take(size)           back in the pool when no array uses it any more
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_right, insort
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.engines.gpu.device_copies import DeviceCopies, address_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_POOL_BYTES = 2**28
"""Pinned memory of a pool; what needs more uses ordinary memory."""


class PinnedRanges:
    """The pinned memory of this process; any thread may ask."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []

    def add(self, memory: NDArray[Any]) -> None:
        start = address_of(memory)
        insort(self._ranges, (start, start + memory.nbytes))

    def remove(self, memory: NDArray[Any]) -> None:
        start = address_of(memory)
        self._ranges = [each for each in self._ranges if each[0] != start]

    def has(self, array: NDArray[Any]) -> bool:
        """Whether all of a contiguous array is in pinned memory."""
        if not self._ranges or not array.flags.c_contiguous:
            return False
        start, ranges = address_of(array), self._ranges
        at = bisect_right(ranges, (start, 2**64)) - 1
        return at >= 0 and start + array.nbytes <= ranges[at][1]


PINNED = PinnedRanges()


def pin(memory: NDArray[np.uint8], copies: DeviceCopies) -> None:
    """Pin memory for all devices of this process."""
    copies.pin(memory)
    PINNED.add(memory)


def unpin(memory: NDArray[np.uint8], copies: DeviceCopies) -> None:
    """Undo `pin`, before the memory goes away."""
    PINNED.remove(memory)
    copies.unpin(memory)


class PinnedPool:
    """Pinned buffers by size, a power of two."""

    def __init__(self, copies: DeviceCopies, max_bytes: int = MAX_POOL_BYTES) -> None:
        self._copies, self._left = copies, max_bytes
        self._free: dict[int, list[NDArray[np.uint8]]] = defaultdict(list)
        self._lock = threading.Lock()

    def take(self, size: int) -> NDArray[np.uint8]:
        """A buffer of so many bytes, pinned unless the pool is exhausted."""
        room = 1 << max(size - 1, 0).bit_length()
        with self._lock:
            buffer = self._free[room].pop() if self._free[room] else None
            if buffer is None and self._left < room:
                return np.empty(size, np.uint8)
            if buffer is None:
                self._left -= room
        if buffer is None:
            buffer = self._copies.pinned(room)
        # not a slice: its slices would keep the buffer alive, and not this array
        taken = np.frombuffer(buffer.data[:size], np.uint8)
        weakref.finalize(taken, self._free[room].append, buffer).atexit = False
        return taken
