"""Status codes of requests, as in gRPC and TensorFlow Serving, with the HTTP status of each."""

from __future__ import annotations

from enum import Enum

from tfport.errors import Error


class StatusCode(Enum):
    """A gRPC status code (also used by TensorFlow) and its HTTP status."""

    OK = 0, 200
    CANCELLED = 1, 499
    UNKNOWN = 2, 500
    INVALID_ARGUMENT = 3, 400
    DEADLINE_EXCEEDED = 4, 504
    NOT_FOUND = 5, 404
    ALREADY_EXISTS = 6, 409
    PERMISSION_DENIED = 7, 403
    RESOURCE_EXHAUSTED = 8, 429
    FAILED_PRECONDITION = 9, 400
    ABORTED = 10, 409
    OUT_OF_RANGE = 11, 400
    UNIMPLEMENTED = 12, 501
    INTERNAL = 13, 500
    UNAVAILABLE = 14, 503
    DATA_LOSS = 15, 500
    UNAUTHENTICATED = 16, 401

    @property
    def number(self) -> int:
        return self.value[0]

    @property
    def http(self) -> int:
        return self.value[1]


SAFE_CODES = (
    StatusCode.UNAVAILABLE,
    StatusCode.RESOURCE_EXHAUSTED,
    StatusCode.UNAUTHENTICATED,
    StatusCode.PERMISSION_DENIED,
)
"""Codes whose messages never contain data of a request."""
FAULTS = (StatusCode.UNKNOWN, StatusCode.INTERNAL, StatusCode.DATA_LOSS)
"""Codes that mean that the server failed."""


class StatusError(Error):
    """A request that failed: a status code and a message for the client."""

    def __init__(self, code: StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code

    @property
    def message(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[type[StatusError], tuple[StatusCode, str]]:
        return StatusError, (self.code, self.message)


def invalid_argument(message: str) -> StatusError:
    """Return the error for a request that is malformed or does not fit the model."""
    return StatusError(StatusCode.INVALID_ARGUMENT, message)
