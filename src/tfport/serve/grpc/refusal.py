"""A handler that refuses a gRPC call before its message is read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc

from tfport.serve.grpc.observers import Observers
from tfport.serve.refusal_reasons import reason_of
from tfport.serve.status import StatusCode


def refusal(
    code: StatusCode, message: str, *, method: str, observers: Observers, reason: str = ""
) -> grpc.RpcMethodHandler:
    """Return a handler for a call of any kind; the reason is the code unless there is a better one."""

    async def refuse(requests: AsyncIterator[Any], context: Any) -> None:
        observers.refused(method, reason or reason_of(code), context.peer())
        await context.abort(getattr(grpc.StatusCode, code.name), message)

    return grpc.stream_unary_rpc_method_handler(refuse)
