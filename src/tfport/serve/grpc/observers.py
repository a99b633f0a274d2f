"""Calls that are counted, traced and sampled while they are answered."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass

from tfport.serve.monitoring.request_log import RequestLog
from tfport.serve.monitoring.tracing import RequestTracer
from tfport.serve.request_metrics import GRPC, RequestMetrics
from tfport.serve.status import StatusCode, StatusError

# calls that a PredictionLog has a place for
KINDS = {
    "Predict": "predict",
    "Classify": "classify",
    "Regress": "regress",
    "MultiInference": "multi_inference",
}


@dataclass(frozen=True, slots=True)
class Observers:
    """Those of one server."""

    metrics: RequestMetrics | None = None
    request_log: RequestLog | None = None
    tracer: RequestTracer | None = None

    async def around(
        self, api: str, model: str, headers: Mapping[str, str], request: bytes, answer: Awaitable[bytes]
    ) -> bytes:
        """The answer; all that there is to tell about it is told."""
        began, code = time.perf_counter(), StatusCode.CANCELLED
        if self.metrics is not None:
            self.metrics.began(GRPC)
        try:
            with nullcontext() if self.tracer is None else self.tracer.request(api, model, headers):
                response = await answer
            code = StatusCode.OK
        except StatusError as refusal:
            code = refusal.code
            raise
        except Exception:
            code = StatusCode.INTERNAL
            raise
        finally:
            if self.metrics is not None:
                self.metrics.ended(GRPC)
                self.metrics.request(model, api, GRPC, code, time.perf_counter() - began)
        if self.request_log is not None and api in KINDS and self.request_log.should_log(model):
            self.request_log.add(model, KINDS[api], request, response)
        return response
