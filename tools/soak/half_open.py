"""Clients of the soak test that open connections and do not use them: the server must close them in time."""

import asyncio
import random

from target import TIMEOUT, Late, Target

HEADER_SECONDS = 3
"""The server's time for a header or a handshake."""
SOCKETS = 50
PATIENCE = 2 * TIMEOUT
"""Seconds until a connection that is still open counts as wrong."""
HALF_HEADER = b"POST /v1/models/m:predict HTTP/1.1\r\nHost: x\r\nX-Half: "
HALF_BODY = b"POST /v1/models/m:predict HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
HALF_PREFACE = b"PRI * HTTP/2.0\r\n"


async def half_open_rest(target: Target) -> None:
    """Open REST connections that send nothing, half a header or half a body."""
    await _half_open(target.rest, (b"", b"G", HALF_HEADER, HALF_BODY))


async def half_open_grpc(target: Target) -> None:
    """Open gRPC connections that do not complete HTTP/2's handshake."""
    await _half_open(target.grpc, (b"", HALF_PREFACE, HALF_PREFACE + b"\r\nSM\r\n\r\n"))


async def _half_open(port: int, beginnings: tuple[bytes, ...]) -> None:
    await asyncio.gather(*(_wait_for_end(port, random.choice(beginnings)) for _ in range(SOCKETS)))


async def _wait_for_end(port: int, sent: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        await asyncio.wait_for(reader.read(), PATIENCE)
    except ConnectionError:
        pass
    except TimeoutError:
        raise Late(f"a connection that sent {sent[:20]!r} is still open") from None
    finally:
        writer.transport.abort()
