"""The bounds of the run that this thread computes: its stop signal, and the memory that it may use.

Plans, loops, kernels and engines read `current_scope()`; it is None for a run without bounds.
Memory is counted where it is cheap: the values that a plan keeps between its stages, what loops
collect, and the outputs of kernels whose size is known before they run (`output_sizes`), or soon after they
began: those that decode files read the sizes in their headers, and call `reserve_memory`. An array that
shares the memory of another one counts nothing. A loop with too many iterations fails in a step with a name
from which the error of an engine is understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import Error, ResourceExhausted
from tfport.runtime.bounds.stop_signal import StopSignal, deadline
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What each run of a session may use; 0 means no limit."""

    max_bytes: int = 0
    """Memory for the tensors that the run computes."""
    max_loop_iterations: int = 0
    """Iterations of one loop."""
    max_seconds: float = 0
    """Time that a run may take."""

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_loop_iterations", "max_seconds"):
            if getattr(self, name) < 0:
                raise Error(
                    f"{name}: expected 0 (no limit) or a positive number, found {getattr(self, name)}"
                )


NO_LIMITS = RunLimits()
STRINGS = 32
"""How many strings of an array are measured."""


@dataclass(slots=True)
class RunScope:
    """One run: its signal, its limit and what it uses."""

    stop: StopSignal
    max_bytes: int = 0
    in_use: int = 0
    """Bytes of the values that are alive."""

    def reserve(self, size: int, node: str, working: int = 0) -> None:
        """Count memory that is about to be used; ResourceExhausted if the run may not use so much.

        `working`: what a kernel needs besides until it is done.
        """
        self.in_use += size
        if self.in_use + working > self.max_bytes:
            where = f"`{node}`: " if node else ""
            raise ResourceExhausted(
                f"{where}the tensors of this run need {self.in_use + working:,} bytes; "
                f"the limit is {self.max_bytes:,} bytes per run"
            )


class LoopUsage:
    """What a loop on the host uses between its iterations."""

    def __init__(self, scope: RunScope, node: str) -> None:
        self._scope, self._node, self._before = scope, node, scope.in_use
        self._rows = 0

    def iterated(self, carried: Iterable[Any], rows: Iterable[Any]) -> None:
        """Look at the stop signal, and count the loop variables and the rows collected so far."""
        scope = self._scope
        if scope.stop.reason is not None:
            scope.stop.check()
        if scope.max_bytes:
            self._rows += own_bytes(rows)
            scope.in_use = self._before
            scope.reserve(2 * self._rows + own_bytes(carried), self._node)  # rows are stacked into a copy


_CURRENT: ContextVar[RunScope | None] = ContextVar("tfport_run", default=None)
current_scope = _CURRENT.get
"""The scope of the run in this thread; None if it has no bounds."""


def reserve_memory(size: int, working: int = 0) -> None:
    """Count what a kernel is about to allocate for its output, and for its work; its node is named later."""
    scope = current_scope()
    if scope is not None and scope.max_bytes:
        scope.reserve(size, "", working)


def memory_left() -> int | None:
    """The bytes that the run in this thread may still use; None if it has no limit."""
    scope = current_scope()
    return max(scope.max_bytes - scope.in_use, 0) if scope is not None and scope.max_bytes else None


@contextmanager
def bounded(
    stop: StopSignal | None = None, timeout: float | None = None, limits: RunLimits = NO_LIMITS
) -> Iterator[None]:
    """Bound every run inside of the block; what is not set stays as it is around it."""
    around = current_scope()
    outer = stop or (around.stop if around is not None else None)
    max_bytes = limits.max_bytes or (around.max_bytes if around is not None else 0)
    # without a deadline there is no second generator, which every call of a server would make
    watched = nullcontext(outer or StopSignal()) if timeout is None else deadline(outer, timeout)
    with watched as signal:
        signal.check()
        token = _CURRENT.set(RunScope(signal, max_bytes))
        try:
            yield
        finally:
            _CURRENT.reset(token)


def own_bytes(values: Iterable[Any]) -> int:
    """The memory of some values; none for views of other arrays."""
    size = 0
    for value in values:
        if isinstance(value, np.ndarray):
            if not isinstance(value.base, np.ndarray):
                size += value.nbytes if value.dtype != object else _string_bytes(value)
        else:
            size += getattr(value, "own_bytes", 0)
    return size


def _string_bytes(array: NDArray[Any]) -> int:
    """About the memory of an array of strings, from its first ones."""
    sample = array.reshape(-1)[:STRINGS].tolist()
    length = sum(len(text) for text in sample if isinstance(text, bytes)) / max(len(sample), 1)
    return int(array.nbytes + array.size * length)


_NAME = re.compile(r":([^:']*)@at_most_(\d+)_iterations")


def limit_name(loop: str, most: int) -> str:
    """The name of the step that limits this loop."""
    return f"{loop}@at_most_{most}_iterations"


def limit_message(loop: str, most: int) -> str:
    """The error of a loop that has more iterations than it may."""
    return f"`{loop}`: the loop does not end within {most:,} iterations, the limit per run"


def limit_message_of(engine_error: str) -> str | None:
    """The error if an engine failed in such a step, else None."""
    match = _NAME.search(engine_error)
    return limit_message(match[1], int(match[2])) if match else None
