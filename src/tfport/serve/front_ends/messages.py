"""What a front end and its server send each other, and how: pickled tuples with their length before them.

Both ends run the same code. What clients send stays bytes: nothing of it is unpickled. A message is pickled
as the number of its class and its fields: pickle takes ten times as long for the name of a class.
"""

from __future__ import annotations

import asyncio
import pickle
import struct
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from tfport.serve.grpc.options import GrpcOptions

STATE, NAMES = "state", "names"
"""What a front end asks for the health service."""
_LENGTH = struct.Struct("=I")


class StartListening(NamedTuple):
    """Server to front end: listen with these options, for these services and their methods."""

    options: GrpcOptions
    services: dict[str, list[str]]
    files: list[bytes]
    """Serialized descriptors, for reflection."""
    groups: int
    """How many rows may be sent together, as the server joins them in batches; 0 for none."""


class Listening(NamedTuple):
    """Front end to server: it listens, or it cannot."""

    problem: str = ""


class FrontEndCall(NamedTuple):
    """Front end to server: a call; large contents of its tensors are in shared blocks."""

    id: int
    service: str
    method: str
    data: bytes
    places: dict[str, tuple[int, int]]
    """Offset and size, by the name of the input."""
    headers: dict[str, str]
    peer: str
    requests: int = 1
    """How many requests of clients it is; their rows are one after the other."""


class CallCancelled(NamedTuple):
    """Front end to server: nobody waits for this call."""

    id: int


class CallAnswer(NamedTuple):
    """Server to front end: the bytes of a response, or a status other than 0 with a message."""

    id: int
    status: int
    content: bytes | str


class BlocksFree(NamedTuple):
    """Server to front end: nothing uses the blocks of a call any more."""

    id: int


class CallRefused(NamedTuple):
    """Front end to server: a call was refused, for the metrics."""

    entrypoint: str
    reason: str
    peer: str
    fields: dict[str, str]


class StopListening(NamedTuple):
    """Server to front end: answer the calls in progress, for some seconds, and end."""

    grace: float


MESSAGES: tuple[type[Any], ...] = (
    StartListening,
    Listening,
    FrontEndCall,
    CallCancelled,
    CallAnswer,
    BlocksFree,
    CallRefused,
    StopListening,
)
_NUMBERS = {kind: number for number, kind in enumerate(MESSAGES)}


class MessageConnection(asyncio.Protocol):
    """One end of the connection; used in its event loop only."""

    def __init__(self, received: Callable[[Any], None], lost: Callable[[], None]) -> None:
        self._received, self._lost = received, lost
        self._buffer = bytearray()
        self._to_send: list[bytes] = []
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)  # uvloop's classes are its own

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        at, end = 0, len(self._buffer)
        while end - at >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, at)
            after = at + _LENGTH.size + length
            if after > end:
                break
            with memoryview(self._buffer)[at + _LENGTH.size : after] as message:
                number, *fields = pickle.loads(message)
            self._received(MESSAGES[number](*fields))
            at = after
        del self._buffer[:at]

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._lost()

    def send(self, message: tuple[Any, ...]) -> None:
        """Send one of `MESSAGES`, together with others of this iteration of the loop."""
        data = pickle.dumps((_NUMBERS[type(message)], *message), protocol=5)
        if not self._to_send:
            asyncio.get_running_loop().call_soon(self.flush)
        self._to_send += (_LENGTH.pack(len(data)), data)

    def flush(self) -> None:
        data, self._to_send = b"".join(self._to_send), []
        if self._transport is not None and data:
            self._transport.write(data)

    def close(self) -> None:
        self.flush()
        if self._transport is not None:
            self._transport.close()
