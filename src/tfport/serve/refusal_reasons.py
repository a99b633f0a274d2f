"""Why a request or a connection is refused: the values of `reason` in the log and in `tfport_refused_total`.

A request that fails with a status has the status as its reason, such as `not_found` or `unauthenticated`.
The others are refused before there is a status.
"""

from __future__ import annotations

from tfport.serve.status import StatusCode

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
    """Return the reason of a request that failed with a status."""
    return code.name.lower()
