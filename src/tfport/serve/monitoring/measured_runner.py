"""Calls run one by one in threads, as `ThreadRunner` runs them, with their numbers told.

What `batching` runs tells its numbers itself; this is for servables that are not batched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from time import perf_counter
from typing import Any

from tfport.graph.model import Signature
from tfport.runtime.session import Session
from tfport.serve.batching.joining import rows_of
from tfport.serve.monitoring.metrics import QUEUE, RUN, Metrics
from tfport.serve.servable import Arrays, run_signature


class MeasuredThreadRunner:
    """Each call of one servable by itself, in a thread of a pool."""

    def __init__(self, pool: Executor, metrics: Metrics, name: str, version: int) -> None:
        self.pool, self.metrics, self.name, self.version = pool, metrics, name, version

    async def __call__(
        self, session: Session, signature: Signature, inputs: Mapping[str, Any], outputs: Sequence[str]
    ) -> Arrays:
        began: list[float] = []
        asked = perf_counter()

        def run() -> Arrays:
            began.append(perf_counter())
            return run_signature(session, signature, inputs, outputs)

        self.metrics.waiting(self.name, self.version, 1)
        try:
            return await asyncio.get_running_loop().run_in_executor(self.pool, run)
        finally:
            self.metrics.waiting(self.name, self.version, -1)
            if began:  # who is cancelled before has run nothing
                self._tell(signature.name, rows_of(inputs) or 1, asked, began[0])

    def _tell(self, signature: str, rows: int, asked: float, began: float) -> None:
        who, seconds = (self.name, self.version, signature), perf_counter() - began
        self.metrics.stage(*who, QUEUE, began - asked)
        self.metrics.stage(*who, RUN, seconds)
        self.metrics.ran(*who, rows, seconds)
