"""Whom front ends tell about requests, and what they call themselves then."""

from __future__ import annotations

from typing import Protocol

from tfport.serve.status import StatusCode

REST, GRPC = "REST", "GRPC"
"""Where a request came from, as TensorFlow Serving calls it."""


class RequestMetrics(Protocol):
    """Counts and measures: `monitoring.metrics.Metrics`."""

    def request(self, model: str, api: str, entrypoint: str, code: StatusCode, seconds: float) -> None:
        """A request ended."""

    def examples(self, model: str, count: int) -> None:
        """A request had so many Examples."""

    def runtime(self, model: str, api: str, seconds: float) -> None:
        """How long a servable took to answer."""

    def stage(self, model: str, version: int, signature: str, stage: str, seconds: float) -> None:
        """A stage of a request took so long."""

    def began(self, entrypoint: str) -> None:
        """A request came."""

    def ended(self, entrypoint: str) -> None:
        """It was answered, or its client went away."""
