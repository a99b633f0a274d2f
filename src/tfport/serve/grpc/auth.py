"""Who may call: those whose metadata `authorization` has a token that counts.

Health stays open, that of the Open Inference Protocol too, as what probes it has no token.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from tfport.serve.auth_tokens import AuthTokens
from tfport.serve.grpc.health import NAME as HEALTH

_INFERENCE = "/inference.GRPCInferenceService"
FREE = (f"/{HEALTH}/", f"{_INFERENCE}/ServerLive", f"{_INFERENCE}/ServerReady")


class TokenInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Turns away every other call before its message is read."""

    def __init__(self, tokens: AuthTokens) -> None:
        self._tokens = tokens

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """The handler of a call, or the one that refuses it."""
        handler = await continuation(details)
        if handler is None or details.method.startswith(FREE):
            return handler
        headers = [value for key, value in details.invocation_metadata if key == "authorization"]
        if any(isinstance(value, str) and self._tokens.allow(value) for value in headers):
            return handler
        return _stream_refusal if handler.request_streaming else _refusal


async def _refuse(request: Any, context: Any) -> None:
    await context.abort(grpc.StatusCode.UNAUTHENTICATED, "a bearer token is needed that this server knows")


_refusal = grpc.unary_unary_rpc_method_handler(_refuse)
_stream_refusal = grpc.stream_unary_rpc_method_handler(_refuse)
