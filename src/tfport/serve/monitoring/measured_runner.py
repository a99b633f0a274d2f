"""Run each call alone, in a thread unless it is light, and report metrics.

For servables that are not batched; `batching` reports its own metrics, and runs light calls as here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

from tfport.graph.model import Signature
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.composite import signature_call
from tfport.runtime.engines.engine import NumbersRefused
from tfport.runtime.session import Session
from tfport.serve.batching.joining import rows_of
from tfport.serve.light_calls import CallKind, LightCalls
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.servable import Arrays, run_signature
from tfport.serve.thread_shares import CallThreads


class MeasuredRunner:
    """Runs each call of one servable alone: a light one at once, others in a thread."""

    def __init__(
        self,
        threads: CallThreads,
        metrics: Metrics,
        light: LightCalls,
        name: str,
        version: int,
        most_runs: Callable[[], int] = lambda: 0,
    ) -> None:
        """`most_runs`: as in `ThreadUser`."""
        self.call_threads, self.metrics, self.light, self.most_runs = threads, metrics, light, most_runs
        self.name, self.version = name, version
        self._calls: dict[str, Callable[..., Arrays]] = {}

    async def __call__(
        self, session: Session, signature: Signature, inputs: Mapping[str, Any], outputs: Sequence[str]
    ) -> Arrays:
        kind = self.light.kind_of(signature, inputs, outputs)
        if self.runs_here(kind):
            with suppress(NumbersRefused):  # the host computes the answer, which may take long
                return self._run_here(session, signature, inputs, outputs, kind)
        return await self.elsewhere(session, signature, inputs, outputs, kind)

    def runs_here(self, kind: CallKind | None) -> bool:
        """Whether the event loop runs a call itself."""
        return self.light.is_light(kind)

    async def elsewhere(
        self,
        session: Session,
        signature: Signature,
        inputs: Mapping[str, Any],
        outputs: Sequence[str],
        kind: CallKind | None,
    ) -> Arrays:
        """Run a call in a thread."""
        began: list[float] = []
        took: list[float] = []
        submitted = perf_counter()

        def run(stop: StopSignal) -> Arrays:
            began.append(perf_counter())
            self.metrics.run_began(self.name, self.version, stop)
            start = self.light.clock()
            try:
                return run_signature(session, signature, inputs, outputs, stop)
            finally:
                took.append(self.light.clock() - start)
                self.metrics.run_ended(stop)

        self.metrics.waiting(self.name, self.version, 1)
        try:
            return await self.call_threads.run(self, run)
        finally:
            self.metrics.waiting(self.name, self.version, -1)
            if began:  # a call that was cancelled before it started has run nothing
                self._report(signature.name, inputs, submitted, began[0])
            if took:
                self.light.ran(kind, took[0])

    def at_once(self, session: Session, signature: Signature, inputs: Mapping[str, Any]) -> Arrays | None:
        """Run a light call for all outputs here; None if it is not light, or the engine refuses its numbers.

        Nothing is reported if it fails.
        """
        kind = self.light.kind_of(signature, inputs, tuple(signature.outputs))
        if not self.runs_here(kind):
            return None
        began, start = perf_counter(), self.light.clock()
        try:
            arrays = self._call_of(session, signature)(**inputs)
        except NumbersRefused:
            return None
        self._report_light(signature, inputs, kind, began, start)
        return arrays

    def _call_of(self, session: Session, signature: Signature) -> Callable[..., Arrays]:
        call = self._calls.get(signature.name)
        if call is None:
            call = signature_call(signature, session.run, any_shape=True, repeats=False)
            self._calls[signature.name] = call
        return call

    def _run_here(
        self,
        session: Session,
        signature: Signature,
        inputs: Mapping[str, Any],
        outputs: Sequence[str],
        kind: CallKind | None,
    ) -> Arrays:
        began, start = perf_counter(), self.light.clock()
        try:
            arrays = run_signature(session, signature, inputs, outputs, repeats=False)
        except NumbersRefused:
            raise  # it runs again
        except Exception:
            self._report_light(signature, inputs, kind, began, start)
            raise
        self._report_light(signature, inputs, kind, began, start)
        return arrays

    def _report_light(
        self,
        signature: Signature,
        inputs: Mapping[str, Any],
        kind: CallKind | None,
        began: float,
        start: float,
    ) -> None:
        self.ran_here(kind, self.light.clock() - start)
        self._report(signature.name, inputs, began, began)

    def ran_here(self, kind: CallKind | None, seconds: float) -> None:
        """Count a light call that took so long."""
        self.light.ran(kind, seconds)

    def _report(self, signature: str, inputs: Mapping[str, Any], submitted: float, began: float) -> None:
        seconds, rows = perf_counter() - began, rows_of(inputs) or 1
        self.metrics.ran_alone(self.name, self.version, signature, rows, began - submitted, seconds)
