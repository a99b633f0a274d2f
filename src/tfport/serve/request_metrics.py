"""How front ends report requests to the metrics, and why requests are refused."""

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


# Values of `reason` in the log and in `tfport_refused_total`, for what is refused before there is a status.

BODY_INVALID = "body_invalid"
BODY_TIMEOUT = "body_timeout"
BODY_TOO_LARGE = "body_too_large"
HEADER_TIMEOUT = "header_timeout"
INVALID_HTTP = "invalid_http"
NO_FILE_DESCRIPTOR = "no_file_descriptor"
STOPPING = "stopping"
TLS_HANDSHAKE = "tls_handshake"
TOO_MANY_CONNECTIONS = "too_many_connections"
UNKNOWN_METHOD = "unknown_method"
UNKNOWN_PATH = "unknown_path"
BY_HTTP_STATUS = {
    400: BODY_INVALID,
    404: UNKNOWN_PATH,
    405: UNKNOWN_METHOD,
    408: BODY_TIMEOUT,
    413: BODY_TOO_LARGE,
}
"""Reasons of HTTP errors that are not the status of a request."""


def reason_of(code: StatusCode) -> str:
    """Return the reason of a request that failed with a status, such as `not_found` or `unauthenticated`."""
    return code.name.lower()
