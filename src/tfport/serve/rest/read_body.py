"""Read the body of a request within limits of time and size."""

from __future__ import annotations

import asyncio

from aiohttp import web
from aiohttp.client_exceptions import ClientPayloadError
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestPayloadError

from tfport.serve.event_loop import LARGE
from tfport.serve.rest.connections import connection_of
from tfport.serve.rest.options import RestOptions
from tfport.serve.status import StatusCode, StatusError
from tfport.serve.workers.pool import Body
from tfport.serve.workers.transfer import MemoryFile

SLOWEST = 2**17
"""Bytes per second: a large body that arrives at least this fast gets more time."""


async def read_body(request: web.Request, options: RestOptions) -> Body:
    """Return the whole body, decompressed; a large one as a file in memory, for a worker."""
    most, seconds = options.most_bytes, options.timeout_seconds
    if (request.content_length or 0) > most:
        raise _too_large(most)
    content, largest = request.content, min(most, options.workers.large - 1)
    if content.is_eof() and content.exception() is None and content.total_bytes <= largest:
        options.body_budget.reserve(request, content.total_bytes)
        return content.read_nowait()  # it arrived with the head
    started, connection, progress = asyncio.get_running_loop().time(), connection_of(request), 0
    turn = 0
    body: bytearray | MemoryFile = bytearray()
    connection.wait_for_body()
    try:
        async with asyncio.timeout(seconds or None) as limit:
            while chunk := await request.content.readany():
                if len(body) + len(chunk) > most:
                    raise _too_large(most)
                options.body_budget.reserve(request, len(chunk))
                body = _joined(body, chunk, options.workers.large)
                if len(body) - progress > SLOWEST:
                    connection.wait_for_body()
                    progress = len(body)
                    if seconds:
                        limit.reschedule(started + seconds + progress / SLOWEST)
                turn += len(chunk)
                if turn >= LARGE:  # aiohttp decompresses as it is read: there is more without waiting
                    await asyncio.sleep(0)
                    turn = 0
        connection.end_body()
        return body if isinstance(body, MemoryFile) else bytes(body)
    except ConnectionError:
        raise StatusError(StatusCode.CANCELLED, "The client disconnected") from None
    except TimeoutError:
        request.content.feed_eof()  # do not wait for the rest
        message = f"The body was not received within {options.timeout_seconds:g} seconds"
        raise web.HTTPRequestTimeout(text=message) from None
    except (RequestPayloadError, HttpProcessingError, ClientPayloadError):
        request.content.feed_eof()
        raise web.HTTPBadRequest(text="The body cannot be read: it is incomplete or badly encoded") from None


def _joined(body: bytearray | MemoryFile, chunk: bytes, large: int) -> bytearray | MemoryFile:
    if isinstance(body, bytearray) and len(body) + len(chunk) >= large:
        start, body = body, MemoryFile()
        body.write(start)
    if isinstance(body, MemoryFile):
        body.write(chunk)
    else:
        body += chunk
    return body


def _too_large(most: int) -> web.HTTPRequestEntityTooLarge:
    # aiohttp before 3.14 requires the actual size, which only its own text states
    return web.HTTPRequestEntityTooLarge(most, most, text=f"The body is larger than {most} bytes")
