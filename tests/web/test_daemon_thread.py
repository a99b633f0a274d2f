"""Threads of requests: results, errors, and an end of the server that does not wait."""

import asyncio
import threading

import pytest

from tfport.web.state import in_daemon_thread


def test_what_was_computed_is_returned():
    assert asyncio.run(in_daemon_thread(lambda: 42)) == 42


def test_an_error_arrives_where_it_was_asked():
    def fail():
        raise LookupError("a sentence")

    with pytest.raises(LookupError, match="a sentence"):
        asyncio.run(in_daemon_thread(fail))


def test_the_end_does_not_wait_for_a_computation():
    release, ended = threading.Event(), []

    def compute():
        release.wait(30)
        ended.append(True)

    async def serve():
        task = asyncio.ensure_future(in_daemon_thread(compute))
        await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(serve())
    assert ended == []
    release.set()
