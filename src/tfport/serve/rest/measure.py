"""Report REST requests to the metrics, and limit the time of their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TypeVar

from aiohttp import web

from tfport.serve.request_metrics import REST, RequestMetrics
from tfport.serve.status import StatusCode, StatusError

Answer = TypeVar("Answer")


@contextmanager
def measured(
    metrics: RequestMetrics | None, api: str, counted_as: Callable[[StatusCode], str]
) -> Iterator[None]:
    """Measure a request; `counted_as` returns the model name for the metrics from the status."""
    started, code = perf_counter(), StatusCode.CANCELLED
    try:
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


async def within_time(seconds: float, work: Awaitable[Answer]) -> Answer:
    """Await an answer for at most `seconds`; 0 means no limit."""
    try:
        async with asyncio.timeout(seconds or None):
            return await work
    except TimeoutError:
        raise StatusError(
            StatusCode.DEADLINE_EXCEEDED, f"Timed out: no answer within {seconds:g} seconds"
        ) from None
