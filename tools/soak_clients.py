"""The clients of `soak`: each asks once in its own way, and says what is wrong with the answer.

Models add their version to what they get, so every answer tells who gave it. A client that asks
rightly must be answered rightly; one that asks wrongly must get the status that it deserves.
"""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import grpc.aio
from tests.serve.process import PREDICT, predict_request

from tfport.formats.proto import serving_api_pb2

MOST_BYTES = 1_000_000
"""The limit of a body that the server is started with."""
TIMEOUT = 5
"""Seconds that the server gives a request."""


class Wrong(Exception):
    """An answer that should not be."""


@dataclass
class Target:
    """The server as clients see it, and which versions may answer now."""

    rest: int
    grpc: int
    session: aiohttp.ClientSession
    channel: grpc.aio.Channel
    versions: set[int] = field(default_factory=set)
    """All that were there since the last that was surely gone."""
    draining: bool = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.rest}"


def numbers() -> list[float]:
    return [float(random.randrange(100_000)) for _ in range(random.choice((1, 1, 3, 50)))]


def is_right(target: Target, asked: list[float], answered: list[float], version: int | None = None) -> None:
    added = {y - x for x, y in zip(asked, answered, strict=True)}
    if len(added) != 1 or not (added <= target.versions) or (version is not None and added != {version}):
        raise Wrong(f"asked {asked[:3]}, answered {answered[:3]} by {version}; there is {target.versions}")


async def posted(target: Target, path: str, body: Any) -> tuple[int, Any]:
    async with target.session.post(target.url + path, data=body) as response:
        text = await response.read()
        return response.status, json.loads(text) if "json" in response.content_type else text


async def rest(target: Target) -> None:
    """Rows."""
    x = numbers()
    status, answer = await posted(target, "/v1/models/m:predict", json.dumps({"instances": x}))
    if status != 200:
        raise Wrong(f"{status} {answer}")
    is_right(target, x, answer["predictions"])


async def v2(target: Target) -> None:
    """The Open Inference Protocol."""
    x = numbers()
    body = {"inputs": [{"name": "x", "shape": [len(x)], "datatype": "FP32", "data": x}]}
    status, answer = await posted(target, "/v2/models/m/infer", json.dumps(body))
    if status != 200:
        raise Wrong(f"{status} {answer}")
    is_right(target, x, answer["outputs"][0]["data"], int(answer["model_version"]))


async def rpc(target: Target) -> None:
    """Predict over gRPC."""
    x = numbers()
    data = await target.channel.unary_unary(PREDICT)(predict_request(*x).SerializeToString(), timeout=60)
    answer = serving_api_pb2.PredictResponse.FromString(data)
    is_right(target, x, list(answer.outputs["y"].float_val), answer.model_spec.version.value)


async def sometimes_there(target: Target) -> None:
    """A model that configurations bring and take away."""
    status, answer = await posted(target, "/v1/models/extra:predict", b'{"instances": [1]}')
    if (status, answer) != (200, {"predictions": [8.0]}) and status != 404:
        raise Wrong(f"{status} {answer}")


BAD_BODIES = [  # path                         body                                    status
    ("/v1/models/m:predict", b"{", 400),
    ("/v1/models/m:predict", b'{"instances": ["a"]}', 400),
    ("/v1/models/m:predict", b'{"instances": [[1], [1, 2]]}', 400),
    ("/v1/models/m:predict", b'{"instances": [[1, 2]]}', 400),
    ("/v1/models/m:predict", b'{"instances": [1], "signature_name": "no"}', 400),
    ("/v1/models/m/versions/999999:predict", b'{"instances": [1]}', 404),
    ("/v1/models/m/labels/no:predict", b'{"instances": [1]}', 400),
    ("/v1/models/no:predict", b'{"instances": [1]}', 404),
    ("/v1/models/m:nonsense", b"{}", 400),
    ("/v2/models/m/infer", b'{"inputs": 7}', 400),
    ("/v2/models/no/infer", b'{"inputs": []}', 404),
    ("/v1/models/m:predict", b" " * (MOST_BYTES + 1), 413),
]  # fmt: skip


async def bad_rest(target: Target) -> None:
    """What is no request, or too large a one."""
    path, body, wanted = random.choice(BAD_BODIES)
    try:
        status, answer = await posted(target, path, body)
    except aiohttp.ClientError:
        if len(body) > MOST_BYTES:  # told while it was still sending
            return
        raise
    # a path of no meaning is 404 or 400, as TensorFlow Serving has it
    if status != wanted and not (wanted == 400 and status == 404 and b"nonsense" in path.encode()):
        raise Wrong(f"{path} {body[:50]!r}: {status} {str(answer)[:200]}")


async def bad_rpc(target: Target) -> None:
    """Bytes that are no message, an unknown model, and an input that is not there."""
    other = predict_request(1)
    other.inputs["z"].CopyFrom(other.inputs["x"])
    requests = [
        (b"\xff\xff", "INVALID_ARGUMENT"),
        (predict_request(1, name="no").SerializeToString(), "NOT_FOUND"),
        (other.SerializeToString(), "INVALID_ARGUMENT"),
    ]
    data, wanted = random.choice(requests)
    try:
        await target.channel.unary_unary(PREDICT)(data, timeout=60)
    except grpc.aio.AioRpcError as error:
        if error.code().name == wanted:
            return
        raise Wrong(f"{data[:50]!r}: {error.code().name} {error.details()}") from None
    raise Wrong(f"{data[:50]!r}: answered")


def _request(body: bytes, length: int | None = None) -> bytes:
    head = f"POST /v1/models/m:predict HTTP/1.1\r\nHost: x\r\nContent-Length: {length or len(body)}\r\n\r\n"
    return head.encode() + body


async def cancelling(target: Target) -> None:
    """A call that its client gives up, some each second.

    Not more: gRPC's own library keeps some 80 to 240 bytes of a call that is cancelled at the wrong moment
    (grpc/grpc issue 43360; a server of a few lines shows it), which would be all that is seen here.
    """
    call = target.channel.unary_unary(PREDICT)(predict_request(*numbers()).SerializeToString())
    await asyncio.sleep(random.random() / 200)
    call.cancel()
    await asyncio.sleep(0.2)


async def leaving(target: Target) -> None:
    """Gone in the middle of a request, or before its answer."""
    data = _request(json.dumps({"instances": numbers()}).encode())
    _, writer = await asyncio.open_connection("127.0.0.1", target.rest)
    writer.write(data[: random.randrange(1, len(data) + 1)])
    await writer.drain()
    writer.transport.abort()


async def slow(target: Target) -> None:
    """A body that comes bit by bit is answered; one that never ends is not waited for."""
    ends, x = random.random() < 0.8, numbers()[:3]
    body = json.dumps({"instances": x}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", target.rest)
    data = _request(body, None if ends else 1000)
    for at in range(0, len(data), 40):
        writer.write(data[at : at + 40])
        await asyncio.sleep(0.2)
    answer = await asyncio.wait_for(reader.read(100_000) if not ends else _whole(reader), 60)
    writer.close()
    if not ends and b" 408 " not in answer.split(b"\r\n")[0]:
        raise Wrong(f"a body that never ends: {answer[:100]!r}")
    if ends:
        is_right(target, x, json.loads(answer)["predictions"])


async def _whole(reader: asyncio.StreamReader) -> bytes:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    return await reader.readexactly(int(head.split("content-length:")[1].split()[0]))


Client = Callable[[Target], Awaitable[None]]
CLIENTS: dict[Client, int] = {
    rest: 6, v2: 3, rpc: 6, sometimes_there: 1, bad_rest: 2, bad_rpc: 1, leaving: 2, cancelling: 1,
    slow: 3,
}  # fmt: skip
"""How many of each kind ask at the same time."""
