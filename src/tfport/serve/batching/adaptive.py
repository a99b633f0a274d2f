"""Run short calls alone where a batch would cost more than it saves.

A call that waits for a batch passes through a thread and, over REST, through aiohttp: `HOP` or more of
processor time, and small models take less. So a servable that is batched also counts its short calls
(`light_calls`), and runs them alone in the event loop unless calls in batches were cheaper. From time to time
it tries batches again, because the number of clients changes, but less and less often while they do not pay.
All other calls are batched, also those with more rows than a batch may have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfport.graph.model import Signature
from tfport.runtime.session import Session
from tfport.serve.batching.runner import BatchRunner
from tfport.serve.light_calls import LIGHT_SECONDS, MOST_KINDS, CallKind, LightCalls
from tfport.serve.monitoring.measured_runner import MeasuredRunner
from tfport.serve.servable import Arrays
from tfport.serve.thread_shares import CallThreads

HOP = 100e-6
"""Seconds of processor time that a batch costs each of its calls, at least."""
WEIGHT = 1 / 8
"""Of a new measurement in an average."""
ROUND, TRIED = 2048, 64
"""Of so many calls that run alone, how many are batched to see what that costs."""
LONGEST_ROUND = 16 * ROUND
"""Rounds become longer while trials show that batches do not pay."""
SINGLES, FIRST_SINGLES = 64, 8
"""After so many batches of one call, there are no others to share a batch with; a trial ends after a few."""


class CallCosts:
    """What calls of one kind cost alone and in a batch, in seconds of processor time."""

    __slots__ = ("_calls", "_round", "_singles", "alone", "shared")

    def __init__(self) -> None:
        self.alone: float | None = None
        self.shared: float | None = None
        """For each call of a batch; None if no batch had several."""
        self._calls = self._singles = 0
        self._round = ROUND

    def ran_alone(self, seconds: float) -> None:
        self.alone = _average(self.alone, seconds)

    def ran_in_batch(self, calls: int, seconds: float) -> None:
        """Note a batch of so many calls."""
        if calls > 1:
            self.shared, self._singles = _average(self.shared, seconds / calls), 0
            return
        self.ran_alone(seconds)
        self._singles += 1
        if self._singles >= SINGLES:
            self.shared, self._singles = None, 0

    def alone_pays(self) -> bool:
        """Whether the next call should run alone."""
        if self.alone is None or self.alone <= HOP:  # or it was measured only together with others, as light
            return True
        if self.shared is not None and self.alone > self.shared + HOP:
            self._calls, self._round = 0, ROUND
            return False
        if self._calls == self._round:
            self._calls, self._singles, self._round = 0, 0, min(2 * self._round, LONGEST_ROUND)
        self._calls += 1
        return self._calls > TRIED or self._singles >= FIRST_SINGLES


def _average(before: float | None, seconds: float) -> float:
    return seconds if before is None else before + (seconds - before) * WEIGHT


class AdaptiveRunner(MeasuredRunner):
    """Runs the calls of one servable in batches, and short ones alone where that is cheaper."""

    def __init__(self, batched: BatchRunner, threads: CallThreads, light: LightCalls) -> None:
        super().__init__(threads, batched.metrics, light, batched.name, batched.version, batched.most_runs)
        self.batched, batched.clock = batched, light.clock
        self._most_rows = min(batched.parameters.max_batch_size, batched.parameters.largest_run)
        self._costs: dict[CallKind, CallCosts] = {}

    def may_join(
        self, session: Session, signature: Signature, inputs: Mapping[str, Any], outputs: Sequence[str]
    ) -> bool:
        """Whether the rows of several requests like this one may run together."""
        return self.batched.may_join(session, signature, inputs, outputs)

    def runs_here(self, kind: CallKind | None) -> bool:
        """Whether a call is light, and cheaper alone."""
        if kind is None or not self.light.is_light(kind):
            return False
        costs = self._costs.get(kind)
        return costs is not None and costs.alone_pays()

    async def elsewhere(
        self,
        session: Session,
        signature: Signature,
        inputs: Mapping[str, Any],
        outputs: Sequence[str],
        kind: CallKind | None,
    ) -> Arrays:
        """Run a call in a batch."""

        def ran(calls: int, seconds: float) -> None:
            self.light.ran(kind, seconds)  # one call takes no longer than several
            if kind is not None and (costs := self._costs_of(kind, seconds)) is not None:
                costs.ran_in_batch(calls, seconds)

        return await self.batched(session, signature, inputs, outputs, ran)

    def ran_here(self, kind: CallKind | None, seconds: float) -> None:
        super().ran_here(kind, seconds)
        if kind in self._costs:
            self._costs[kind].ran_alone(seconds)

    def _costs_of(self, kind: CallKind, seconds: float) -> CallCosts | None:
        """The costs of calls that may run alone: they are short, and have no more rows than a batch."""
        costs = self._costs.get(kind)
        if costs is not None or seconds > LIGHT_SECONDS or len(self._costs) >= MOST_KINDS:
            return costs
        if max((shape[0] for shape in kind[2]), default=0) > self._most_rows:
            return None
        costs = self._costs[kind] = CallCosts()
        return costs
