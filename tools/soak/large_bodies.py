"""Clients of the soak test that send 100 MB of JSON: plain, named, compressed, and with an error."""

import json
import random
import zlib
from collections.abc import AsyncIterator

from target import Target, wrong_status
from tests.serve.models.exports import saved_model

SIZE = 100_000_000
"""Bytes of a body."""
MAXIMUM = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    axis = Const() {dtype=int32, value=int32()[1]}
    y = Max(x, axis) {T=float32, Tidx=int32}
"""
_CHUNK = b"0.125," * 2**17
_BEGINNINGS = {b'{"inputs": [[': b"]]}", b'{"inputs": {"x": [[': b"]]}}"}


def maximum() -> bytes:
    """Return a model that answers with its largest input."""
    return saved_model(MAXIMUM, {"serving_default": "y:0"})


async def large_body(target: Target) -> None:
    """Send a large list of numbers and ask for the largest."""
    begin, end = random.choice(list(_BEGINNINGS.items()))
    number = random.randrange(1, 1000)
    status, answer = await _sent(target, _chunks(begin, b"%d" % number + end))
    if (status, answer) != (200, {"outputs": [float(number)]}):
        raise wrong_status(status, f"{str(answer)[:200]}; the largest is {number}")


async def large_bad_body(target: Target) -> None:
    """Send 10 MB with text instead of the last number: to find the place takes longer than to read."""
    status, answer = await _sent(target, _chunks(b'{"inputs": [[', b'"text"]]}', SIZE // 10))
    if status != 400 or "is not of expected type: float" not in answer["error"]:
        raise wrong_status(status, f"{str(answer)[:200]} for text among numbers")


async def large_compressed_body(target: Target) -> None:
    """Send a large list compressed, some hundred kilobytes."""
    status, answer = await _sent(target, COMPRESSED, **{"Content-Encoding": "gzip"})
    if (status, answer) != (200, {"outputs": [0.125]}):
        raise wrong_status(status, f"{str(answer)[:200]} for a compressed body")


async def _sent(target: Target, body: AsyncIterator[bytes] | bytes, **headers: str) -> tuple[int, dict]:
    url = f"{target.url}/v1/models/maximum:predict"
    async with target.session.post(url, data=body, headers=headers) as response:
        return response.status, json.loads(await response.read())


async def _chunks(begin: bytes, end: bytes, size: int = SIZE) -> AsyncIterator[bytes]:
    yield begin
    for _ in range(size // len(_CHUNK)):
        yield _CHUNK
    yield end


def _gzipped() -> bytes:
    compressor = zlib.compressobj(1, wbits=31)
    parts = [b'{"inputs": [[', *[_CHUNK] * (SIZE // len(_CHUNK)), b"0]]}"]
    return b"".join(map(compressor.compress, parts)) + compressor.flush()


COMPRESSED = _gzipped()
"""Made before the server starts: it takes a second."""
