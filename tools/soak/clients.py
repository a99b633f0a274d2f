"""The usual clients of the soak test: each sends one kind of request and checks the answer.

Models add their version to their input, so every answer shows its version. A valid request must get the
right answer, an invalid one the right status.
"""

import asyncio
import json
import random
from typing import Any

import grpc.aio
from target import MOST_BYTES, Target, Wrong, wrong_code, wrong_status
from tests.serve.process import PREDICT, predict_request

from tfport.formats.proto import serving_api_pb2


def numbers() -> list[float]:
    return [float(random.randrange(100_000)) for _ in range(random.choice((1, 1, 3, 50)))]


def is_right(
    target: Target, before: set[int], asked: list[float], answered: list[float], version: int | None = None
) -> None:
    """Check an answer; `before` are the versions that could answer when the request was sent."""
    added, versions = {y - x for x, y in zip(asked, answered, strict=True)}, before | target.versions
    if len(added) != 1 or not (added <= versions) or (version is not None and added != {version}):
        raise Wrong(f"sent {asked[:3]}, answered {answered[:3]} by {version}; expected one of {versions}")


async def posted(target: Target, path: str, body: Any) -> tuple[int, Any]:
    async with target.session.post(target.url + path, data=body) as response:
        text = await response.read()
        return response.status, json.loads(text) if "json" in response.content_type else text


async def rest(target: Target) -> None:
    """Predict rows over REST."""
    x, before = numbers(), set(target.versions)
    status, answer = await posted(target, "/v1/models/m:predict", json.dumps({"instances": x}))
    if status != 200:
        raise wrong_status(status, str(answer))
    is_right(target, before, x, answer["predictions"])


async def v2(target: Target) -> None:
    """Infer with the Open Inference Protocol."""
    x, before = numbers(), set(target.versions)
    body = {"inputs": [{"name": "x", "shape": [len(x)], "datatype": "FP32", "data": x}]}
    status, answer = await posted(target, "/v2/models/m/infer", json.dumps(body))
    if status != 200:
        raise wrong_status(status, str(answer))
    is_right(target, before, x, answer["outputs"][0]["data"], int(answer["model_version"]))


async def rpc(target: Target) -> None:
    """Predict over gRPC."""
    x, before = numbers(), set(target.versions)
    try:
        data = await target.channel.unary_unary(PREDICT)(predict_request(*x).SerializeToString(), timeout=60)
    except grpc.aio.AioRpcError as error:
        raise wrong_code(error.code().name, error.details() or "") from None
    answer = serving_api_pb2.PredictResponse.FromString(data)
    is_right(target, before, x, list(answer.outputs["y"].float_val), answer.model_spec.version.value)


async def sometimes_there(target: Target) -> None:
    """Ask a model that configurations add and remove."""
    status, answer = await posted(target, "/v1/models/extra:predict", b'{"instances": [1]}')
    if (status, answer) != (200, {"predictions": [8.0]}) and status != 404:
        raise wrong_status(status, str(answer))


BAD_BODIES = [  # path                         body                                    status
    ("/v1/models/m:predict", b"{", 400),
    ("/v1/models/m:predict", b'{"instances": ["a"]}', 400),
    ("/v1/models/m:predict", b'{"instances": [[1], [1, 2]]}', 400),
    ("/v1/models/m:predict", b'{"instances": [1], "signature_name": "no"}', 400),
    ("/v1/models/m/versions/999999:predict", b'{"instances": [1]}', 404),
    ("/v1/models/m/labels/no:predict", b'{"instances": [1]}', 400),
    ("/v1/models/no:predict", b'{"instances": [1]}', 404),
    ("/v1/models/m:nonsense", b"{}", 400),
    ("/v2/models/m/infer", b'{"inputs": 7}', 400),
    ("/v2/models/no/infer", b'{"inputs": []}', 404),
]  # fmt: skip


async def bad_rest(target: Target) -> None:
    """Send an invalid request."""
    path, body, wanted = random.choice(BAD_BODIES)
    status, answer = await posted(target, path, body)
    # an unknown path gets 404 or 400, as in TensorFlow Serving
    if status != wanted and not (wanted == 400 and status == 404 and b"nonsense" in path.encode()):
        raise wrong_status(status, f"for {path} {body[:50]!r}: {str(answer)[:200]}")


async def bad_rpc(target: Target) -> None:
    """Send invalid bytes, an unknown model, or an unknown input over gRPC."""
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
        raise wrong_code(error.code().name, f"for {data[:50]!r}: {error.details()}") from None
    raise Wrong(f"{data[:50]!r}: answered")


def _request(body: bytes, length: int | None = None) -> bytes:
    head = f"POST /v1/models/m:predict HTTP/1.1\r\nHost: x\r\nContent-Length: {length or len(body)}\r\n\r\n"
    return head.encode() + body


async def too_large(target: Target) -> None:
    """Announce a body that is too large: it is rejected before it is sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", target.rest)
    writer.write(_request(b"{", MOST_BYTES + 1))
    answer = await asyncio.wait_for(reader.read(100_000), 60)
    writer.close()
    if b" 413 " not in answer.split(b"\r\n")[0]:
        raise Wrong(f"a body that is too large: {answer[:100]!r}")


async def cancelling(target: Target) -> None:
    """Cancel a call, a few times per second.

    Not more often: gRPC's own library leaks 80 to 240 bytes of a call that is cancelled at the wrong
    moment (grpc/grpc issue 43360), which would hide other growth.
    """
    call = target.channel.unary_unary(PREDICT)(predict_request(*numbers()).SerializeToString())
    await asyncio.sleep(random.random() / 200)
    call.cancel()
    await asyncio.sleep(0.2)


async def leaving(target: Target) -> None:
    """Disconnect during a request or before its answer."""
    data = _request(json.dumps({"instances": numbers()}).encode())
    _, writer = await asyncio.open_connection("127.0.0.1", target.rest)
    writer.write(data[: random.randrange(1, len(data) + 1)])
    await writer.drain()
    writer.transport.abort()


async def slow(target: Target) -> None:
    """Send a body slowly, which must be answered, or an endless one, which must time out."""
    ends, x, before = random.random() < 0.8, numbers()[:3], set(target.versions)
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
        is_right(target, before, x, json.loads(answer)["predictions"])


async def _whole(reader: asyncio.StreamReader) -> bytes:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    return await reader.readexactly(int(head.split("content-length:")[1].split()[0]))
