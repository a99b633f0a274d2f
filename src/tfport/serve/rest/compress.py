"""Compress responses for clients that accept it."""

from __future__ import annotations

import asyncio
import gzip

from aiohttp import web

LARGE = 2**17
"""Size in bytes from which a thread pays off: some milliseconds of work."""
_FASTEST = 1  # higher levels hardly reduce the size of numbers


async def compressed(request: web.Request, response: web.StreamResponse, at_least: int) -> None:
    """Compress the body of a response if the client accepts it and it is large enough."""
    if not isinstance(response, web.Response) or not isinstance(response.body, bytes):
        return
    if not at_least or len(response.body) < at_least or "Content-Encoding" in response.headers:
        return
    response.headers["Vary"] = "Accept-Encoding"
    if not _takes_gzip(request.headers.get("Accept-Encoding", "")):
        return
    body = response.body
    if len(body) < LARGE:
        response.body = gzip.compress(body, _FASTEST, mtime=0)
    else:
        response.body = await asyncio.to_thread(gzip.compress, body, _FASTEST, mtime=0)
    response.headers["Content-Encoding"] = "gzip"


def _takes_gzip(accepted: str) -> bool:
    for item in accepted.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        if name in ("gzip", "*"):
            return not any(
                part.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for part in parameters
            )
    return False
