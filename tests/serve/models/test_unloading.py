"""Unloading: calls in progress end, and memory is freed."""

from __future__ import annotations

import asyncio
import gc
import shutil
import threading
import weakref

import pytest
from tests.serve.models.exports import export, serving, until

from tfport.serve.model_catalog import VersionState
from tfport.serve.models.config import one_model
from tfport.serve.models.loading import session_opener
from tfport.serve.servable import ThreadRunner
from tfport.serve.status import StatusCode, StatusError

OK = StatusCode.OK


class Held:
    """A runner whose calls wait in their thread until they are released."""

    def __init__(self, pool) -> None:
        self.pool, self.begun, self.go = pool, threading.Event(), threading.Event()

    async def __call__(self, session, signature, inputs, outputs):
        await asyncio.get_running_loop().run_in_executor(None, self._wait)
        return await ThreadRunner(self.pool)(session, signature, inputs, outputs)

    def _wait(self) -> None:
        self.begun.set()
        assert self.go.wait(30)


def test_a_call_that_has_begun_ends_although_its_version_is_removed(tmp_path):
    export(tmp_path, 1)
    export(tmp_path, 2)
    gated = Held(None)

    async def run():
        runners = lambda settings, version, session: gated if version == 2 else ThreadRunner(None)  # noqa: E731
        async with serving(one_model("m", str(tmp_path)), runner_for=runners) as served:
            call = asyncio.create_task(served.ask())
            await until(gated.begun.is_set)
            shutil.rmtree(tmp_path / "2")
            await until(
                lambda: served.states() == {2: (VersionState.UNLOADING, OK), 1: (VersionState.AVAILABLE, OK)}
            )
            assert await served.ask() == 1
            assert not call.done()
            gated.go.set()
            assert await call == 2
            await until(lambda: served.status(2).state is VersionState.END)

    asyncio.run(run())


def test_draining_has_a_limit_and_the_call_ends_all_the_same(tmp_path):
    export(tmp_path, 1)
    gated = Held(None)

    async def run():
        async with serving(
            one_model("m", str(tmp_path)), runner_for=lambda *_: gated, drain_seconds=0.05
        ) as served:
            call = asyncio.create_task(served.ask())
            await until(gated.begun.is_set)
            shutil.rmtree(tmp_path / "1")
            await until(lambda: served.status(1).state is VersionState.END)
            gated.go.set()
            assert await call == 1

    asyncio.run(run())


def test_stopping_lets_calls_end(tmp_path):
    export(tmp_path, 1)
    gated = Held(None)

    async def run():
        async with serving(one_model("m", str(tmp_path)), runner_for=lambda *_: gated) as served:
            call = asyncio.create_task(served.ask())
            await until(gated.begun.is_set)
            stop = asyncio.create_task(served.manager.stop())
            await until(lambda: served.status(1).state is VersionState.UNLOADING)
            with pytest.raises(StatusError):
                await served.ask()
            assert not stop.done()
            gated.go.set()
            assert await call == 1
            await stop
            assert served.status(1).state is VersionState.END

    asyncio.run(run())


def test_what_is_unloaded_is_freed(tmp_path):
    export(tmp_path, 1)

    class Closed(ThreadRunner):
        closed = False

        async def close(self):
            self.closed = True

    async def run():
        runner = Closed(None)
        async with serving(one_model("m", str(tmp_path)), runner_for=lambda *_: runner) as served:
            await served.ask()
            session = weakref.ref(served.catalog.get("m").session)
            export(tmp_path, 2)
            await until(lambda: 2 in served.states() and served.status(1).state is VersionState.END)
            assert runner.closed
            assert session() is None

    asyncio.run(run())


def test_what_failed_to_load_is_freed(tmp_path):
    export(tmp_path, 1)
    sessions = []

    def watched(folder, settings):
        session = session_opener()(folder, settings)
        sessions.append(weakref.ref(session))
        return session

    def no_runner(*_):
        raise RuntimeError("no room")

    async def run():
        async with serving(one_model("m", str(tmp_path)), load=watched, runner_for=no_runner) as served:
            status = served.status(1)
            assert (status.state, status.code) == (VersionState.END, StatusCode.INTERNAL)
            assert status.message == "RuntimeError: no room"
            # the thread that loaded it releases it, too
            await until(lambda: bool(gc.collect() or True) and sessions[0]() is None)

    asyncio.run(run())
