"""Calls that use the same memory each time: inputs are read where they are, outputs are overwritten.

A CUDA graph belongs to the memory that it was captured with. Usually inputs are copied there, and outputs
from there. A caller who fills the same arrays again and again, and is done with the outputs before the next
call, needs neither copy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tfport.runtime.engines.gpu.device_array import DeviceArray


class Replay(NamedTuple):
    """A CUDA graph that was launched where the arrays of the caller are."""

    again: Callable[[], list[Any] | None]
    """Launches it once more: its outputs, or None if the call must be made in full."""
    outputs: Sequence[Any]


class _Wanted(threading.local):
    value = False
    replay: Replay | None = None


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
        before, _WANTED.value = _WANTED.value, True
        _WANTED.replay = None
        try:
            return call(**inputs)
        finally:
            _WANTED.value = before

    return called


def keep_replay(replay: Replay) -> None:
    """Tell the caller of this thread how its call can be repeated."""
    _WANTED.replay = replay


def last_replay() -> Replay | None:
    """How the last call of this thread in place can be repeated; None if it launched no graph there."""
    return _WANTED.replay


def addresses(arrays: Sequence[Any]) -> tuple[int, ...]:
    """Where the arrays lie in the memory of the device; nothing if one of them does not."""
    places = [array.address for array in arrays if type(array) is DeviceArray]
    return tuple(places) if len(places) == len(arrays) else ()
