"""Send requests that wait together as one: the server then reads, checks and answers one message for all.

Requests are alike if nothing differs but the contents of their tensors. While two groups of the same kind are
with the server, further requests wait for the next one; a request that comes alone is sent at once. The
server says ABORTED if the rows of several requests must not be joined. Then, after any error, and if the rows
of an answer are not those of the requests, each request is sent by itself.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np

from tfport.formats.encoding.tensor import NUMPY
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import serving_wire_pb2 as wire
from tfport.serve.front_ends.alike_requests import AlikeRequest
from tfport.serve.front_ends.messages import CallAnswer
from tfport.serve.grpc.tensors import write_tensor
from tfport.serve.status import StatusCode

IN_FLIGHT = 2
"""Groups of a kind that the server has: one that is computed, and one that is assembled."""
MOST_KINDS = 1000


Ask = Callable[[AlikeRequest], Awaitable[CallAnswer]]
AskTogether = Callable[[Sequence[AlikeRequest], bytes], Awaitable[CallAnswer]]


class RequestGroups:
    """The requests of a front end that wait to be sent."""

    def __init__(self, ask: Ask, ask_together: AskTogether, *, most_rows: int, tensor_content: bool) -> None:
        """`ask` sends one request, `ask_together` several of a kind with the message for all of them."""
        self._ask, self._ask_together, self._content = ask, ask_together, tensor_content
        self._most_rows = most_rows
        self._waiting: dict[bytes, list[AlikeRequest]] = {}
        self._in_flight: Counter[bytes] = Counter()
        self._apart: set[bytes] = set()
        """Kinds of requests that cannot be joined."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def answer(self, request: AlikeRequest) -> CallAnswer:
        """Send a request, alone or with others."""
        waiting = self._waiting.setdefault(request.kind, [])
        waiting.append(request)
        if len(waiting) == 1:
            asyncio.get_running_loop().call_soon(self._send, request.kind)
        try:
            return await request.answer
        finally:
            if request in self._waiting.get(request.kind, ()):
                self._waiting[request.kind].remove(request)

    def _send(self, kind: bytes) -> None:
        while self._waiting.get(kind) and (self._in_flight[kind] < IN_FLIGHT or kind in self._apart):
            rows = self._waiting[kind][0].rows
            group = self._waiting[kind][: 1 if kind in self._apart else max(self._most_rows // rows, 1)]
            del self._waiting[kind][: len(group)]
            self._in_flight[kind] += 1
            task = asyncio.ensure_future(self._run(kind, group))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if not self._waiting.get(kind):
            self._waiting.pop(kind, None)

    async def _run(self, kind: bytes, group: list[AlikeRequest]) -> None:
        try:
            answers = await self._together(kind, group) if len(group) > 1 else None
            if answers is None:
                await asyncio.gather(*(self._alone(request) for request in group))
            else:
                for request, answer in zip(group, answers, strict=True):
                    if not request.answer.done():
                        request.answer.set_result(CallAnswer(0, 0, answer))
        finally:
            self._in_flight[kind] -= 1
            if not self._in_flight[kind]:
                del self._in_flight[kind]
            self._send(kind)

    async def _together(self, kind: bytes, group: list[AlikeRequest]) -> list[bytes] | None:
        """The answers to a group; None if each request must be sent by itself."""
        rows = [request.rows for request in group]
        joined = await self._ask_together(group, message_for(kind, rows))
        answers = None
        if not joined.status and isinstance(joined.content, bytes):
            answers = split_response(joined.content, rows, content=self._content)
        if joined.status == StatusCode.ABORTED.number or (answers is None and not joined.status):
            if len(self._apart) >= MOST_KINDS:
                self._apart.clear()
            self._apart.add(kind)
        return answers

    async def _alone(self, request: AlikeRequest) -> None:
        if request.answer.done():  # its client is gone
            return
        asking = asyncio.ensure_future(self._ask(request))
        request.answer.add_done_callback(lambda _: asking.cancel())
        try:
            answer = await asking
        except asyncio.CancelledError:
            return
        if not request.answer.done():
            request.answer.set_result(answer)


def message_for(kind: bytes, rows: Sequence[int]) -> bytes:
    """The message of a group: that of its requests, with all rows."""
    message = wire.PredictRequestWire.FromString(kind)
    for tensor in message.inputs.values():
        tensor.tensor_shape.dim[0].size = sum(rows)
    return message.SerializeToString()


def split_response(data: bytes, rows: Sequence[int], *, content: bool) -> list[bytes] | None:
    """The response to each request of a group; None if an output does not have a row for each of theirs."""
    whole = wire.PredictResponseWire.FromString(data)
    columns: dict[str, tuple[int, np.ndarray]] = {}
    for name, tensor in whole.outputs.items():
        shape = [dim.size for dim in tensor.tensor_shape.dim]
        if not shape or shape[0] != sum(rows):
            return None
        columns[name] = tensor.dtype, _elements(tensor).reshape(shape)
    responses, start = [], 0
    for count in rows:
        response = wire.PredictResponseWire(model_spec=whole.model_spec)
        for name, (dtype, array) in columns.items():
            write_tensor(response.outputs[name], array[start : start + count], dtype, content=content)
        responses.append(response.SerializeToString())
        start += count
    return responses


def _elements(tensor: wire.TensorToWrite) -> Any:
    if tensor.dtype == graph_pb2.DT_STRING:
        texts = np.empty(len(tensor.string_val), object)
        texts[:] = tensor.string_val
        return texts
    return np.frombuffer(tensor.tensor_content, NUMPY[tensor.dtype])
