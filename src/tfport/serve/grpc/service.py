"""A gRPC service built from coroutines; a `StatusError` becomes the status of the call.

    methods = [GrpcMethod("GetModelStatus", GetModelStatusRequest, status)]
    GrpcService("tensorflow.serving.ModelService", methods)

Messages are parsed here and not by gRPC, so that invalid bytes end in INVALID_ARGUMENT. A call whose
deadline has passed is not started; gRPC cancels the coroutine if the client disconnects or times out.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import DecodeError, Message

from tfport.serve.grpc.observers import Observers
from tfport.serve.offload import offload
from tfport.serve.refusal_reasons import reason_of
from tfport.serve.status import FAULTS, SAFE_CODES, StatusCode, StatusError, invalid_argument

LONGEST_MESSAGE = 1024
"""Maximum characters of an error message, as in TensorFlow Serving: headers have limits."""
STATUS = {status.value[0]: status for status in grpc.StatusCode}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GrpcMethod:
    """A method: its name, its request message and the coroutine that answers it."""

    name: str
    request: type[Message]
    answer: Callable[[Any, int], Awaitable[Message | bytes]]
    """Takes the message and its size in bytes, returns the response or its bytes."""
    model: Callable[[Any], str] | None = None
    """Returns the model that a request is for, if it counts as a request for a model."""


@dataclass(frozen=True, slots=True)
class GrpcService:
    """Methods under a service's full name."""

    name: str
    methods: Sequence[GrpcMethod]

    def handler(self, observers: Observers) -> grpc.ServiceRpcHandler:
        """Return a handler for a gRPC server."""
        handlers = {
            method.name: grpc.unary_unary_rpc_method_handler(_answering(method, observers))
            for method in self.methods
        }
        return grpc.method_handlers_generic_handler(self.name, handlers)


def _answering(method: GrpcMethod, observers: Observers) -> Callable[[bytes, Any], Awaitable[bytes]]:
    async def answer(data: bytes, context: Any) -> bytes:
        left = context.time_remaining()
        if left is not None and left <= 0:
            await _abort(context, StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")
        try:
            return await _answered(method, data, observers, context)
        except StatusError as error:
            code, message = error.code, error.message
            if code not in FAULTS:
                safe = {"error": message} if code in SAFE_CODES else {}
                observers.refused(method.name, reason_of(code), context.peer(), **safe)
        except Exception:
            _log.exception("%s failed", method.name)
            code, message = StatusCode.INTERNAL, f"{method.name} failed; see the server's log"
        await _abort(context, code, message)
        raise AssertionError  # abort does not return

    return answer


async def _answered(method: GrpcMethod, data: bytes, observers: Observers, context: Any) -> bytes:
    request = await offload(len(data), _parsed, method.request, data)
    answer = _written(method, request, len(data))
    if method.model is None:
        return await answer
    headers = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
    return await observers.around(method.name, method.model(request), headers, data, answer)


async def _written(method: GrpcMethod, request: Message, size: int) -> bytes:
    answer = await method.answer(request, size)
    return answer if isinstance(answer, bytes) else answer.SerializeToString()


def _parsed(kind: type[Message], data: bytes) -> Message:
    try:
        return kind.FromString(data)
    except DecodeError:
        name = kind.DESCRIPTOR.name.removesuffix("Wire")
        raise invalid_argument(f"cannot parse {len(data)} bytes as {name}") from None


async def _abort(context: Any, code: StatusCode, message: str) -> None:
    shown = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}...TRUNCATED"
    await context.abort(STATUS[code.number], shown)
