"""Require a bearer token in the `authorization` metadata of gRPC calls.

Health checks need no token, including those of the Open Inference Protocol: probes have none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from tfport.serve.auth_tokens import AuthTokens
from tfport.serve.grpc.health import NAME as HEALTH
from tfport.serve.grpc.observers import Observers
from tfport.serve.grpc.refusal import refusal
from tfport.serve.status import StatusCode

_INFERENCE = "/inference.GRPCInferenceService"
WITHOUT_TOKEN = (f"/{HEALTH}/", f"{_INFERENCE}/ServerLive", f"{_INFERENCE}/ServerReady")


class TokenInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Rejects calls without a valid token before their message is read."""

    def __init__(self, tokens: AuthTokens, observers: Observers) -> None:
        self._tokens, self._observers = tokens, observers

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """Return the handler of a call, or one that rejects it."""
        handler = await continuation(details)
        if handler is None or details.method.startswith(WITHOUT_TOKEN):
            return handler
        headers = [value for key, value in details.invocation_metadata if key == "authorization"]
        if any(isinstance(value, str) and self._tokens.allow(value) for value in headers):
            return handler
        message = "a valid bearer token is required"
        return refusal(StatusCode.UNAUTHENTICATED, message, method=details.method, observers=self._observers)
