"""Run each call alone in a thread, like `ThreadRunner`, and report metrics.

For servables that are not batched; `batching` reports its own metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from time import perf_counter
from typing import Any

from tfport.graph.model import Signature
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.session import Session
from tfport.serve.batching.joining import rows_of
from tfport.serve.monitoring.metrics import QUEUE, RUN, Metrics
from tfport.serve.servable import Arrays, in_thread, run_signature


class MeasuredThreadRunner:
    """Runs each call of one servable alone, in a thread of a pool."""

    def __init__(self, pool: Executor, metrics: Metrics, name: str, version: int) -> None:
        self.pool, self.metrics, self.name, self.version = pool, metrics, name, version

    async def __call__(
        self, session: Session, signature: Signature, inputs: Mapping[str, Any], outputs: Sequence[str]
    ) -> Arrays:
        began: list[float] = []
        submitted = perf_counter()

        def run(stop: StopSignal) -> Arrays:
            began.append(perf_counter())
            return run_signature(session, signature, inputs, outputs, stop)

        self.metrics.waiting(self.name, self.version, 1)
        try:
            return await in_thread(self.pool, run)
        finally:
            self.metrics.waiting(self.name, self.version, -1)
            if began:  # a call that was cancelled before it started has run nothing
                self._report(signature.name, rows_of(inputs) or 1, submitted, began[0])

    def _report(self, signature: str, rows: int, submitted: float, began: float) -> None:
        labels, seconds = (self.name, self.version, signature), perf_counter() - began
        self.metrics.stage(*labels, QUEUE, began - submitted)
        self.metrics.stage(*labels, RUN, seconds)
        self.metrics.ran(*labels, rows, seconds)
