"""Measure, trace and log gRPC calls while they are answered."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import nullcontext
from typing import Any, cast
from urllib.parse import unquote

from tfport.serve.monitoring.request_log import RequestLog
from tfport.serve.monitoring.tracing import RequestTracer
from tfport.serve.request_metrics import GRPC, RequestMetrics
from tfport.serve.status import StatusCode, StatusError
from tfport.startup.dataclass import dataclass

# calls that a PredictionLog can represent
KINDS = {
    "Predict": "predict",
    "Classify": "classify",
    "Regress": "regress",
    "MultiInference": "multi_inference",
}


@dataclass(frozen=True, slots=True)
class Observers:
    """Metrics, request log and tracer of one server."""

    metrics: RequestMetrics | None = None
    request_log: RequestLog | None = None
    tracer: RequestTracer | None = None

    async def around(
        self,
        api: str,
        model: str,
        counted_as: str,
        headers: Mapping[str, str],
        request: Callable[[], bytes],
        answer: Awaitable[bytes],
        requests: int = 1,
    ) -> bytes:
        """Await the answer and report it to all observers, as that to so many requests.

        `counted_as` is the name of the model for metrics.
        `request` is called only if it is logged; requests that are logged must come one by one.
        """
        if requests > 1 and self.request_log is not None and self.request_log.logs(model):
            cast("Coroutine[Any, Any, bytes]", answer).close()
            raise StatusError(StatusCode.ABORTED, "requests of this model are logged one by one")
        began, code = time.perf_counter(), StatusCode.CANCELLED
        if self.metrics is not None:
            self.metrics.began(GRPC)
        try:
            with nullcontext() if self.tracer is None else self.tracer.request(api, model, headers):
                response = await answer
            code = StatusCode.OK
        except StatusError as error:
            code = error.code
            raise
        except Exception:
            code = StatusCode.INTERNAL
            raise
        finally:
            if self.metrics is not None:
                self.metrics.ended(GRPC)
                seconds = time.perf_counter() - began
                for _ in range(requests if code is not StatusCode.ABORTED else 0):
                    self.metrics.request(counted_as, api, GRPC, code, seconds)
        if self.request_log is not None and api in KINDS and self.request_log.should_log(model):
            self.request_log.add(model, KINDS[api], request(), response)
        return response

    def refused(self, method: str, reason: str, peer: str, **fields: str) -> None:
        """Report a refused call."""
        if self.metrics is not None:
            self.metrics.refused(GRPC, reason, readable_peer(peer), method=method, **fields)


def readable_peer(peer: str) -> str:
    """Return an address as in other logs; gRPC writes `ipv4:127.0.0.1:4711` and `ipv6:%5B::1%5D:4711`."""
    return unquote(peer.removeprefix("ipv4:").removeprefix("ipv6:"))
