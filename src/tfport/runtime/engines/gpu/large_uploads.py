"""Copy large arrays of the host to a GPU faster than CUDA copies ordinary memory.

CUDA copies memory that is not pinned in one thread. Here several threads copy parts of an array into pinned
buffers, from which the GPU reads the others meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.engines.gpu.device_copies import DeviceCopies, address_of
from tfport.runtime.engines.gpu.pinned_memory import PINNED

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGE = 4 << 20
"""Bytes of an array from which that pays."""
PART = 1 << 20
"""Bytes of a pinned buffer."""
MAX_THREADS = 6
Range = tuple[int, int]


class LargeUploads:
    """The threads, streams and pinned buffers for one device; any thread may copy, one at a time."""

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
