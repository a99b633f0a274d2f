"""Return freed memory to the system.

While a model is compiled, copies of its weights are made and freed. The C library keeps most of that
memory, as pieces of it are in use: after compiling ResNet-50, a quarter of the resident memory is free.
Engines that keep the memory of earlier runs return it too (`also_return`).

glibc has up to eight heaps for each processor and keeps what was freed in each of them. Having fewer heaps,
or returning each large block when it is freed, would keep less, but takes a fifth more or twice the processor
time of requests of ten megabytes: the system clears what it gives. So it is returned from time to time.

`malloc_trim` returns what is free between the blocks of all heaps, but the free end of only the main heap.
The others return theirs when a block in them is freed and the end is larger than a threshold, which rises to
64 MB when large blocks are freed. So a server whose blocks needed 25 MB also kept 10 to 50 MB of tensors that
had been freed long ago. Each thread of a `thread_pool` leaves a small block in its heap: making it longer and
then shorter again, in any thread, frees memory in that heap, and with a low threshold the end is returned.
This is for programs whose process is their own: afterwards, the thresholds are fixed.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from tfport.operating_system import is_windows

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers of options in glibc's malloc.h."""
LOW, HIGH = 128 << 10, 64 << 20
"""The smallest end that a heap returns by itself: glibc's first threshold, and what it becomes."""
LARGEST_BLOCK = 32 << 20
"""Larger blocks are not in heaps: what this limit becomes when such blocks are freed."""
_HEAP_SIZE = 64 << 20
"""Heaps begin at multiples of it, except for the main one."""
_SHORT, _LONG = 4 << 10, 256 << 10
"""Sizes of a block. Freeing less than 64 KB makes no heap look at its end."""

_OTHERS: list[Callable[[], None]] = []
_blocks: dict[int, int] = {}
"""The address of a block in each heap, by the number of the heap."""
_lock = Lock()


def also_return(give: Callable[[], None]) -> None:
    """Call this whenever freed memory is returned, before the C library returns its own."""
    _OTHERS.append(give)


def return_freed_memory() -> None:
    """Give the system what this process has freed, if the C library can do that."""
    for give in list(_OTHERS):
        give()
    return_heaps()


def return_heaps() -> None:
    """Give the system what the C library keeps, and leave the engines what they keep for the next run."""
    trim = _trim()
    if trim is not None:
        trim(0)


@functools.cache
def _trim() -> Callable[[int], int] | None:
    """`malloc_trim` of glibc."""
    return None if is_windows() else getattr(ctypes.CDLL(None), "malloc_trim", None)


def thread_pool(count: int, name: str) -> ThreadPoolExecutor:
    """A pool of threads whose heaps `return_heap_ends` knows."""
    from concurrent.futures import ThreadPoolExecutor  # here, as only servers have pools

    return ThreadPoolExecutor(count, name, initializer=_leave_block)


def keep_freed_memory() -> None:
    """Keep up to 64 MB of freed memory in each heap, as glibc does once large blocks were freed.

    For processes that need the same memory for each batch of rows or each request: the system clears what it
    gives, which takes a third of the time in which NumPy parses Examples, and a fifth of the time in which
    a front end passes on an image of floats.
    """
    if (c := _glibc()) is not None:
        c.mallopt(_MMAP_THRESHOLD, LARGEST_BLOCK)
        c.mallopt(_TRIM_THRESHOLD, HIGH)


def return_heap_ends() -> None:
    """Give the system the free ends of the heaps of the threads of every `thread_pool`."""
    if not _blocks or (c := _glibc()) is None:
        return
    with _lock:
        c.mallopt(_MMAP_THRESHOLD, LARGEST_BLOCK)  # else it would not change once a threshold is set
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
