"""Pinned memory of the host: which memory is pinned, buffers that are used again, and fast uploads.

pin(memory, copies)                     for all devices of this process
PINNED.has(array)
PinnedPool(copies).take(size)           back in the pool when no array uses it any more
LargeUploads(copies, threads)           copies large arrays to a GPU through pinned buffers
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.engines.gpu.cuda_runtime import DeviceCopies, address_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


MAX_POOL_BYTES = 2**28
"""Pinned memory of a pool; what needs more uses ordinary memory."""
LARGE = 4 << 20
"""Bytes from which uploading an array through pinned buffers pays."""
PART = 1 << 20
"""Bytes of a pinned buffer for an upload."""
MAX_THREADS = 6
Range = tuple[int, int]


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


class LargeUploads:
    """The threads, streams and pinned buffers for one device; any thread may copy, one at a time.

    CUDA copies memory that is not pinned in one thread. Here several threads copy parts of an array into
    pinned buffers, while the GPU reads other buffers.
    """

    def __init__(self, copies: DeviceCopies, threads: int) -> None:
        self._copies = copies
        self._lock = threading.Lock()
        self._threads = max(1, min(threads, MAX_THREADS))
        self._pool: ThreadPoolExecutor | None = None
        self._lanes: list[_Lane] = []

    def takes(self, array: Any) -> bool:
        """Whether an array is to be copied here."""
        return type(array) is np.ndarray and array.nbytes >= LARGE and array.flags.c_contiguous

    def copy(self, array: NDArray[Any], target: int) -> None:
        """Copy an array to an address of the device, and wait."""
        with self._lock:
            if self._pool is None:
                self._lanes = [_Lane(self._copies) for _ in range(self._threads)]
                self._pool = ThreadPoolExecutor(self._threads, "tfport-upload")
            if PINNED.has(array):
                self._lanes[0].copy_pinned(array, target)
                return
            rows = array.view(np.uint8).reshape(-1)
            parts = list(_parts(array.nbytes))
            work = [(lane, rows, target, parts[i :: self._threads]) for i, lane in enumerate(self._lanes)]
            for done in [self._pool.submit(_copy_parts, *each) for each in work]:
                done.result()


class _Lane:
    """A stream with two pinned buffers: one is filled while the GPU reads the other."""

    def __init__(self, copies: DeviceCopies) -> None:
        self.copies = copies
        self.streams = [copies.stream(), copies.stream()]
        self.buffers = [copies.pinned(PART), copies.pinned(PART)]

    def copy_pinned(self, array: NDArray[Any], target: int) -> None:
        self.copies.to_device(self.streams[0], target, address_of(array), array.nbytes)
        self.copies.wait(self.streams[0])


def _copy_parts(lane: _Lane, rows: NDArray[np.uint8], target: int, parts: list[Range]) -> None:
    for count, (start, end) in enumerate(parts):
        stream, buffer = lane.streams[count % 2], lane.buffers[count % 2][: end - start]
        lane.copies.wait(stream)  # what the GPU still reads from this buffer
        np.copyto(buffer, rows[start:end])
        lane.copies.to_device(stream, target + start, address_of(buffer), end - start)
    for stream in lane.streams:
        lane.copies.wait(stream)


def _parts(size: int) -> Iterator[Range]:
    return ((start, min(start + PART, size)) for start in range(0, size, PART))
