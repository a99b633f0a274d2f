"""Calls that are counted, traced and sampled while they are answered."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from tfport.serve.status import Code, Refused
from tfport.serve.watch import GRPC, Watch

# calls that a PredictionLog has a place for
KINDS = {
    "Predict": "predict",
    "Classify": "classify",
    "Regress": "regress",
    "MultiInference": "multi_inference",
}


class Samples(Protocol):
    """Who keeps some requests: `monitoring.samples.Samples`."""

    def wants(self, model: str) -> bool:
        """Whether this one is to be kept."""
        ...

    def take(self, model: str, kind: str, request: bytes, response: bytes) -> bool:
        """Keep a request and its response."""
        ...


class Trace(Protocol):
    """Who makes spans: `monitoring.tracing.Trace`."""

    def request(self, api: str, model: str, headers: Mapping[str, str]) -> AbstractContextManager[Any]:
        """A span for a request."""
        ...


@dataclass(frozen=True, slots=True)
class Observers:
    """Those of one server."""

    watch: Watch | None = None
    samples: Samples | None = None
    trace: Trace | None = None

    async def around(
        self, api: str, model: str, headers: Mapping[str, str], request: bytes, answer: Awaitable[bytes]
    ) -> bytes:
        """The answer; all that there is to tell about it is told."""
        began, code = time.perf_counter(), Code.CANCELLED
        if self.watch is not None:
            self.watch.began(GRPC)
        try:
            with nullcontext() if self.trace is None else self.trace.request(api, model, headers):
                response = await answer
            code = Code.OK
        except Refused as refusal:
            code = refusal.code
            raise
        except Exception:
            code = Code.INTERNAL
            raise
        finally:
            if self.watch is not None:
                self.watch.ended(GRPC)
                self.watch.request(model, api, GRPC, code, time.perf_counter() - began)
        if self.samples is not None and api in KINDS and self.samples.wants(model):
            self.samples.take(model, KINDS[api], request, response)
        return response
