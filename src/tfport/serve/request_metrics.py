"""Interface through which front ends report requests to the metrics."""

from __future__ import annotations

from typing import Protocol

from tfport.serve.status import StatusCode

REST, GRPC = "REST", "GRPC"
"""Entry points, as TensorFlow Serving names them in its metrics."""
HEALTH = "HEALTH"
"""Entry point of the health port."""


class RequestMetrics(Protocol):
    """Counts and measures requests; implemented by `monitoring.metrics.Metrics`."""

    def request(self, model: str, api: str, entrypoint: str, code: StatusCode, seconds: float) -> None:
        """Report that a request ended."""

    def examples(self, model: str, count: int) -> None:
        """Report the number of Examples in a request."""

    def runtime(self, model: str, api: str, seconds: float) -> None:
        """Report how long a servable took to answer."""

    def coded(
        self, model: str, version: int, signature: str, decode_seconds: float, encode_seconds: float
    ) -> None:
        """Report how long it took to decode a request and to encode its answer."""

    def began(self, entrypoint: str) -> None:
        """Report that a request arrived."""

    def ended(self, entrypoint: str) -> None:
        """Report that a request was answered or its client disconnected."""

    def refused(self, entrypoint: str, reason: str, peer: str, **fields: str) -> None:
        """Report a refused request or connection: the reason and the client's address."""
