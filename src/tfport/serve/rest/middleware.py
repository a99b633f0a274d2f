"""What surrounds every REST request: metrics, a span and a time limit, and compressed responses."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from time import perf_counter
from typing import TypeVar

from aiohttp import web

from tfport.serve.request_metrics import REST
from tfport.serve.rest.options import RestOptions
from tfport.serve.status import StatusCode, StatusError

# Metrics and a time limit

Answer = TypeVar("Answer")
_HTTP = {"network.protocol.name": "http"}


@contextmanager
def observed(
    options: RestOptions,
    request: web.Request,
    api: str,
    model: str,
    counted_as: Callable[[StatusCode], str],
) -> Iterator[None]:
    """Measure and trace a request; `counted_as` returns the model name for the metrics from the status."""
    metrics, tracer = options.metrics, options.tracer
    started, code = perf_counter(), StatusCode.CANCELLED
    try:
        with nullcontext() if tracer is None else tracer.request(api, model, _lower(request), **_HTTP):
            yield
        code = StatusCode.OK
    except StatusError as error:
        code = error.code
        raise
    except web.HTTPException:
        code = StatusCode.INVALID_ARGUMENT
        raise
    except Exception:
        code = StatusCode.INTERNAL
        raise
    finally:
        if metrics is not None:
            metrics.request(counted_as(code), api, REST, code, perf_counter() - started)


def _lower(request: web.Request) -> dict[str, str]:
    """Return the headers with the names that OpenTelemetry looks for."""
    return {name.lower(): value for name, value in request.headers.items()}


async def within_time(seconds: float, work: Awaitable[Answer]) -> Answer:
    """Await an answer for at most `seconds`; 0 means no limit."""
    try:
        async with asyncio.timeout(seconds or None):
            return await work
    except TimeoutError:
        raise StatusError(
            StatusCode.DEADLINE_EXCEEDED, f"Timed out: no answer within {seconds:g} seconds"
        ) from None


# Compression

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
