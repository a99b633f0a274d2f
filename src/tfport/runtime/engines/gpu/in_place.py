"""Calls that use the same memory each time: inputs are read where they are, outputs are overwritten.

A CUDA graph belongs to the memory that it was captured with. Usually inputs are copied there, and outputs
from there. A caller who fills the same arrays again and again, and is done with the outputs before the next
call, needs neither copy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tfport.runtime.engines.gpu.device_array import DeviceArray


class _Wanted(threading.local):
    value = False


_WANTED = _Wanted()


def is_in_place() -> bool:
    """Whether the caller of this thread wants its arrays to be used where they are."""
    return _WANTED.value


@contextmanager
def in_place(wanted: bool) -> Iterator[None]:
    before, _WANTED.value = _WANTED.value, wanted
    try:
        yield
    finally:
        _WANTED.value = before


def called_in_place(call: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with its arrays used where they are."""

    def called(**inputs: Any) -> Any:
        with in_place(True):
            return call(**inputs)

    return called


def addresses(arrays: Sequence[Any]) -> tuple[int, ...]:
    """Where the arrays lie in the memory of the device; nothing if one of them does not."""
    if not all(type(array) is DeviceArray for array in arrays):
        return ()
    return tuple(array.value.data_ptr() for array in arrays)
