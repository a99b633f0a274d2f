"""Answers compressed for clients that say that they take it."""

from __future__ import annotations

import asyncio
import gzip

from aiohttp import web

LARGE = 2**17
"""Bytes from which on a thread is worth its while: some milliseconds of work."""
_QUICK = 1  # numbers hardly become smaller with more effort


async def compressed(request: web.Request, response: web.StreamResponse, at_least: int) -> None:
    """Compress the body of an answer, where that is wanted and worth it."""
    if not isinstance(response, web.Response) or not isinstance(response.body, bytes):
        return
    if not at_least or len(response.body) < at_least or "Content-Encoding" in response.headers:
        return
    response.headers["Vary"] = "Accept-Encoding"
    if not _takes_gzip(request.headers.get("Accept-Encoding", "")):
        return
    body = response.body
    if len(body) < LARGE:
        response.body = gzip.compress(body, _QUICK, mtime=0)
    else:
        response.body = await asyncio.to_thread(gzip.compress, body, _QUICK, mtime=0)
    response.headers["Content-Encoding"] = "gzip"


def _takes_gzip(accepted: str) -> bool:
    for item in accepted.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        if name in ("gzip", "*"):
            return not any(
                part.replace(" ", "") in ("q=0", "q=0.0", "q=0.00", "q=0.000") for part in parameters
            )
    return False
