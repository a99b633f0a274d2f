"""Return the free ends of the C library's heaps, which `malloc_trim` leaves.

glibc gives each thread one of several heaps. `malloc_trim` returns what is free between the blocks of all
heaps, but the free end of the main heap only. The others return theirs when a block in them is freed and the
end is larger than a threshold, and that rises to 64 MB when large blocks are freed. So a server whose blocks
need 25 MB also kept 10 to 50 MB of tensors that had been freed long ago.

    pool = server_threads(4, "calls")
    return_heap_ends()

Each thread leaves a small block in its heap. To make it longer and then shorter again frees memory in that
heap, whatever thread does it, and with a low threshold its end is returned.
"""

from __future__ import annotations

import ctypes
import functools
import os
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from tfport.operating_system import is_windows

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of options in glibc's malloc.h."""
LOW, HIGH = 128 << 10, 64 << 20
"""The smallest end that a heap returns by itself: glibc's first threshold, and what it becomes."""
LARGEST_BLOCK = 32 << 20
"""Larger blocks are not in heaps: what this limit becomes when such blocks are freed."""
_HEAP_SIZE = 64 << 20
"""Heaps begin at multiples of it, if the main one is left out."""
_SHORT, _LONG = 4 << 10, 256 << 10
"""Sizes of a block. Freeing less than 64 KB makes no heap look at its end."""

_blocks: dict[int, int] = {}
"""The address of a block in each heap, by the number of the heap."""
_lock = Lock()


def server_threads(count: int, name: str) -> ThreadPoolExecutor:
    """A pool of threads whose heaps are returned."""
    return ThreadPoolExecutor(count, name, initializer=_leave_block)


def return_heap_ends() -> None:
    """Give the system the free ends of the heaps of all `server_threads`."""
    if not _blocks or (c := _glibc()) is None:
        return
    with _lock:
        c.mallopt(_MMAP_THRESHOLD, LARGEST_BLOCK)  # else it would stay as it is once a threshold is set
        c.mallopt(_TRIM_THRESHOLD, LOW)
        for heap, block in _blocks.items():
            if (longer := c.realloc(block, _LONG)) is not None:
                _blocks[heap] = c.realloc(longer, _SHORT) or longer
        c.mallopt(_TRIM_THRESHOLD, HIGH)


def _leave_block() -> None:
    if (c := _glibc()) is None or (block := c.malloc(_SHORT)) is None:
        return
    with _lock:
        is_new = _blocks.setdefault(block // _HEAP_SIZE, block) == block
    if not is_new:
        c.free(block)


@functools.cache
def _glibc() -> ctypes.CDLL | None:
    """The C library, if it is glibc and nobody has set its thresholds."""
    if is_windows() or any(
        name.startswith(("MALLOC_", "GLIBC_")) and "threshold" in f"{name}={value}".lower()
        for name, value in os.environ.items()
    ):
        return None
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return None
    library.malloc.restype = library.realloc.restype = ctypes.c_void_p
    library.malloc.argtypes = [ctypes.c_size_t]
    library.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.free.argtypes, library.free.restype = [ctypes.c_void_p], None
    return library
