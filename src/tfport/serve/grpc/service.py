"""A gRPC service built from coroutines; a `StatusError` becomes the status of the call.

    methods = [GrpcMethod("GetModelStatus", GetModelStatusRequest, status)]
    GrpcService("tensorflow.serving.ModelService", methods)

Messages are parsed here and not by gRPC, so that invalid bytes end in INVALID_ARGUMENT. A call whose
deadline has passed is not started; gRPC cancels the coroutine if the client disconnects or times out.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import grpc
from google.protobuf.message import DecodeError, Message

from tfport.serve.event_loop import offload
from tfport.serve.grpc.observers import Observers
from tfport.serve.request_metrics import reason_of
from tfport.serve.status import FAULTS, SAFE_CODES, StatusCode, StatusError, invalid_argument
from tfport.startup.dataclass import dataclass

LONGEST_MESSAGE = 1024
"""Maximum characters of an error message, as in TensorFlow Serving: headers have limits."""
STATUS = {status.value[0]: status for status in grpc.StatusCode}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DetachedContents:
    """What a front end took out of a message."""

    tensors: Mapping[str, Any]
    """Contents of tensors by the name of the input."""
    requests: int = 1
    """How many requests of clients the message is, whose rows are one after the other."""


NO_CONTENTS = DetachedContents({})


@dataclass(frozen=True, slots=True)
class RequestedModel:
    """The model that a request is for."""

    name: Callable[[Any], str]
    """Returns the name in a request."""
    counted_as: Callable[[str], str]
    """Returns the name for metrics."""


@dataclass(frozen=True, slots=True)
class GrpcMethod:
    """A method: its name, its request message and the coroutine that answers it."""

    name: str
    request: type[Message]
    answer: Callable[..., Awaitable[Message | bytes]]
    """Takes the message, its size in bytes, and with `detaches` its contents; returns the response or its
    bytes."""
    model: RequestedModel | None = None
    """If it counts as a request for a model."""
    detaches: bool = False
    """Whether the contents of tensors may come beside the message."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: the metadata and the address."""

    headers: Mapping[str, str]
    peer: str


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
            await abort(context, StatusCode.DEADLINE_EXCEEDED.number, "Deadline Exceeded")
        try:
            return await answer_call(method, data, observers, caller_of(context))
        except StatusError as error:
            code, message = error.code, error.message
        await abort(context, code.number, message)
        raise AssertionError  # abort does not return

    return answer


def caller_of(context: Any) -> Caller:
    """Who calls, in gRPC's words."""
    headers = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
    return Caller(headers, context.peer())


async def answer_call(
    method: GrpcMethod,
    data: bytes,
    observers: Observers,
    caller: Caller,
    contents: DetachedContents = NO_CONTENTS,
) -> bytes:
    """Answer a call, or raise a StatusError that has been reported."""
    try:
        return await _answered(method, data, observers, caller, contents)
    except StatusError as error:
        if error.code not in FAULTS:
            safe = {"error": error.message} if error.code in SAFE_CODES else {}
            observers.refused(method.name, reason_of(error.code), caller.peer, **safe)
        raise
    except Exception:
        _log.exception("%s failed", method.name)
        raise StatusError(StatusCode.INTERNAL, f"{method.name} failed; see the server's log") from None


async def _answered(
    method: GrpcMethod, data: bytes, observers: Observers, caller: Caller, contents: DetachedContents
) -> bytes:
    request = await offload(len(data), _parsed, method.request, data)
    answer = _written(method, request, len(data), contents)
    if method.model is None:
        return await answer
    model = method.model.name(request)
    return await observers.around(
        method.name,
        model,
        method.model.counted_as(model),
        caller.headers,
        lambda: _whole(request, data, contents),
        answer,
        contents.requests,
    )


def _whole(request: Any, data: bytes, contents: DetachedContents) -> bytes:
    """The message with its contents."""
    if not contents.tensors:
        return data
    for name, content in contents.tensors.items():
        request.inputs[name].tensor_content = bytes(content)
    whole: bytes = request.SerializeToString()
    return whole


async def _written(method: GrpcMethod, request: Message, size: int, contents: DetachedContents) -> bytes:
    beside = (contents,) if method.detaches else ()
    answer = await method.answer(request, size, *beside)
    return answer if isinstance(answer, bytes) else answer.SerializeToString()


def _parsed(kind: type[Message], data: bytes) -> Message:
    try:
        return kind.FromString(data)
    except DecodeError:
        name = kind.DESCRIPTOR.name.removesuffix("Wire")
        raise invalid_argument(f"cannot parse {len(data)} bytes as {name}") from None


async def abort(context: Any, code: int, message: str) -> None:
    """End a call with a status; does not return."""
    shown = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}...TRUNCATED"
    await context.abort(STATUS[code], shown)
