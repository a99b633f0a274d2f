"""Record the time of islands and host steps while plans run.

Plans made inside of `recording(recorder)` report to it: `Plan` passes each island and each host step
through the recorder, which wraps it with a clock. Plans made elsewhere are not changed. A step that
runs others (a loop, a branch) is charged only with its own time.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Any

from tfport.runtime.passes.pass_list import PassLog, logging_passes
from tfport.runtime.profile.node_origins import NodeOrigin, NodeOrigins
from tfport.runtime.program import NeverLowered, Run, Step
from tfport.startup.dataclass import dataclass, field

TOO_SMALL = "its island would be too small"
CALIBRATIONS, CALIBRATION_CALLS = 5, 200


@dataclass(slots=True)
class Clock:
    """How often something ran in the current run, and its own seconds."""

    calls: int = 0
    seconds: float = 0.0


@dataclass(eq=False, slots=True)
class IslandRecord:
    """One island: the TensorFlow ops in it, and its time."""

    ops: Mapping[str, int]
    onnx_nodes: int
    inside: str
    """The loop or branch whose body it belongs to; empty at the top."""
    clock: Clock = field(default_factory=Clock)
    engine_sessions: list[Any] = field(default_factory=list)
    """The engine's sessions that record their own profile."""
    engine_seconds: float = 0.0
    """The engine's own time, if it reports one."""
    origins: list[NodeOrigin] = field(default_factory=list)
    """The nodes of the model in it."""


@dataclass(frozen=True, slots=True)
class HostNode:
    """A node that runs on the host although its op has a lowering."""

    name: str
    op: str
    reason: str
    inside: str = ""


@dataclass(eq=False, slots=True)
class HostStep:
    """A step on the host: the node that it is of, its time, and why it is not in an island."""

    origin: NodeOrigin
    op: str
    reason: str
    clock: Clock = field(default_factory=Clock)
    fastest: Clock = field(default_factory=Clock)
    """Its time in the run in which it took the least."""


@dataclass(eq=False, slots=True)
class _Call:
    """A call in progress: of an island, or of a host step by its name."""

    of: IslandRecord | str
    inner: float = 0.0
    """Seconds of the calls inside of it, and of timing them."""


class Recorder:
    """Collects times between `start` and `stop`."""

    def __init__(self, *, engine_events: str = "") -> None:
        """`engine_events`: a folder where engines record their own profiles, which slows them down."""
        self.islands: list[IslandRecord] = []
        self.steps: list[HostStep] = []
        self.origins = NodeOrigins()
        self.host_nodes: list[HostNode] = []
        self.passes = PassLog()
        self.engine_events = engine_events
        self._thread = threading.get_ident()
        self._active = False
        self._calls: list[_Call] = []
        self.cost = 0.0
        """About how many seconds each timed call adds to a run."""
        self.cost = min(self._cost_of_timing() for _ in range(CALIBRATIONS))

    def start(self) -> None:
        """Set all clocks to zero and let them count."""
        for clock in self._clocks():
            clock.calls, clock.seconds = 0, 0.0
        for island in self.islands:
            island.engine_seconds = 0.0
        self._active = True

    def stop(self) -> None:
        """Let the clocks stand, and note the least time of each host step."""
        self._active = False
        for step in self.steps:
            clock, fastest = step.clock, step.fastest
            if clock.calls and (not fastest.calls or clock.seconds < fastest.seconds):
                fastest.calls, fastest.seconds = clock.calls, clock.seconds

    @property
    def calls(self) -> int:
        """How many calls were timed."""
        return sum(clock.calls for clock in self._clocks())

    def island(self, steps: Sequence[Step], make: Callable[[], Run]) -> Run:
        """Compile an island; the function that runs it, timed."""
        nodes = sum(len(step.lowered or ()) for step in steps)
        record = IslandRecord(Counter(step.op for step in steps), nodes, self._inside())
        record.origins = list(dict.fromkeys(map(self.origins.of_step, steps)))
        self.islands.append(record)
        self._calls.append(_Call(record))
        try:
            run = make()
        finally:
            self._calls.pop()
        return self._timed(run, record.clock, record)

    def step(self, step: Step) -> Run:
        """The function that runs a host step, timed."""
        assert step.run is not None
        reason = step.why if step.lowered is None else TOO_SMALL
        if reason and not isinstance(reason, NeverLowered):
            self.host_nodes.append(HostNode(step.name, step.op, reason, self._inside()))
        record = HostStep(self.origins.of_step(step), step.op, reason)
        self.steps.append(record)
        return self._timed(step.run, record.clock, step.name)

    @property
    def host(self) -> dict[str, Clock]:
        """The time of the host steps by op."""
        clocks: dict[str, Clock] = {}
        for step in self.steps:
            clock = clocks.setdefault(step.op, Clock())
            clock.calls += step.clock.calls
            clock.seconds += step.clock.seconds
        return clocks

    def engine_session(self, session: Any) -> None:
        """Note a session of an engine that records its own profile, for the island that uses it."""
        if (record := self._island()) is not None:
            record.engine_sessions.append(session)

    def engine_time(self, seconds: float) -> None:
        """Add the time that an engine itself reports for the island in progress."""
        if (record := self._island()) is not None:
            record.engine_seconds += seconds

    def _cost_of_timing(self) -> float:
        empty = self._timed(lambda inputs: inputs, Clock(), "")
        started = perf_counter()
        for _ in range(CALIBRATION_CALLS):
            empty(())
        return (perf_counter() - started) / CALIBRATION_CALLS

    def _clocks(self) -> list[Clock]:
        return [*(island.clock for island in self.islands), *(step.clock for step in self.steps)]

    def _inside(self) -> str:
        """The step whose inner plan is being made or run."""
        return next((call.of for call in reversed(self._calls) if isinstance(call.of, str)), "")

    def _island(self) -> IslandRecord | None:
        """The island that is being compiled or run in this thread."""
        if not self._calls or threading.get_ident() != self._thread:
            return None
        last = self._calls[-1].of
        return last if isinstance(last, IslandRecord) else None

    def _timed(self, run: Run, clock: Clock, of: IslandRecord | str) -> Run:
        calls = self._calls

        def timed(inputs: Sequence[Any]) -> Sequence[Any]:
            if threading.get_ident() != self._thread:
                return run(inputs)  # its time is that of the step that waits for this thread
            call = _Call(of)
            calls.append(call)
            started = perf_counter()
            try:
                return run(inputs)
            finally:
                took = perf_counter() - started
                calls.pop()
                if calls:
                    calls[-1].inner += took + self.cost
                if self._active:
                    clock.calls += 1
                    clock.seconds += took - call.inner

        return timed


_CURRENT: ContextVar[Recorder | None] = ContextVar("tfport_recorder", default=None)
current_recorder = _CURRENT.get
"""The recorder of this thread; None where nothing is recorded."""


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Let the plans that are made inside of the block report to the recorder."""
    token = _CURRENT.set(recorder)
    try:
        with logging_passes(recorder.passes):
            yield
    finally:
        _CURRENT.reset(token)
