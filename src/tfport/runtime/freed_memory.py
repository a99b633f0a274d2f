"""Return freed memory to the system.

While a model is compiled, copies of its weights are made and freed. The C library keeps most of that
memory, as pieces of it are in use: after compiling ResNet-50, a quarter of the resident memory is free.
Engines that keep the memory of earlier runs return it too (`also_return`).

glibc has up to eight heaps for each processor and keeps what was freed in each of them. Having fewer heaps,
or returning each large block when it is freed, would keep less, but takes a fifth more or twice the processor
time of requests of ten megabytes: the system clears what it gives. So it is returned from time to time.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

from tfport.operating_system import is_windows

_OTHERS: list[Callable[[], None]] = []


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
