"""Models from start to stop: versions change, and requests are answered throughout."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest
from tests.serve.models.exports import Served, adder, config_of, export, model, serving, until

from tfport.serve.model_catalog import ModelCatalog, VersionState
from tfport.serve.models.config import one_model
from tfport.serve.models.loading import session_opener
from tfport.serve.models.manager import ModelManager
from tfport.serve.servable import ThreadRunner
from tfport.serve.status import StatusCode, StatusError

OK = StatusCode.OK


def test_the_newest_version_is_served(tmp_path):
    for version in (1, 2, "00000010"):
        export(tmp_path, version)

    async def run():
        async with serving(one_model("m", str(tmp_path))) as served:
            assert served.manager.ready()
            assert await served.ask() == 10
            assert served.states() == {10: (VersionState.AVAILABLE, OK)}
        assert served.states() == {10: (VersionState.END, OK)}
        assert not served.manager.ready()

    asyncio.run(run())


def test_a_model_itself_is_served_as_version_1(tmp_path):
    folder = export(tmp_path, 7)

    async def run():
        async with serving(one_model("m", str(folder))) as served:
            assert await served.ask(version=1) == 7

    asyncio.run(run())


POLICIES = [  # policy, versions
    ("latest { num_versions: 2 }", {2, 3}),
    ("all {}", {1, 2, 3}),
    ("specific { versions: 1 versions: 3 }", {1, 3}),
    ("specific { versions: 2 versions: 99 }", {2}),
]


@pytest.mark.parametrize(("policy", "versions"), POLICIES)
def test_policies(tmp_path, policy, versions):
    for version in (1, 2, 3):
        export(tmp_path, version)

    async def run():
        async with serving(config_of(model("m", tmp_path, f"model_version_policy {{ {policy} }}"))) as served:
            assert served.states() == dict.fromkeys(versions, (VersionState.AVAILABLE, OK))
            assert [await served.ask(version=v) for v in versions] == list(versions)

    asyncio.run(run())


def test_no_request_is_lost_while_versions_change(tmp_path):
    export(tmp_path, 1)
    answers: list[float] = []

    async def ask_on(served: Served, stop: asyncio.Event) -> None:
        while not stop.is_set():
            answers.append(await served.ask())

    async def run():
        async with serving(one_model("m", str(tmp_path))) as served:
            stop = asyncio.Event()
            clients = [asyncio.create_task(ask_on(served, stop)) for _ in range(4)]
            for version in (2, 3, 4):
                export(tmp_path, version)
                await until(lambda v=version: served.states().get(v) == (VersionState.AVAILABLE, OK))
                await until(lambda v=version: served.status(v - 1).state is VersionState.END)
            stop.set()
            await asyncio.gather(*clients)

    asyncio.run(run())
    assert set(answers) == {1, 2, 3, 4}


def test_stopping_does_not_wait_for_loads(tmp_path):
    export(tmp_path, 1)
    go, begun = threading.Event(), threading.Event()

    def slow(folder, settings):
        begun.set()
        assert go.wait(30)
        return session_opener()(folder, settings)

    async def run():
        async with serving(
            one_model("m", str(tmp_path)), load=slow, wait=False, drain_seconds=0.05
        ) as served:
            await until(begun.is_set)
            assert served.status(1).state is VersionState.LOADING
            assert not served.manager.ready()
        go.set()
        with pytest.raises(StatusError):
            await served.ask()

    asyncio.run(run())


def test_looking_once_and_never(tmp_path):
    export(tmp_path, 1)

    async def run():
        async with serving(one_model("m", str(tmp_path)), poll_seconds=0) as served:
            export(tmp_path, 2)
            await asyncio.sleep(0.05)
            assert served.states() == {1: (VersionState.AVAILABLE, OK)}
            await served.manager.reload(served.manager.config)  # scans again
            assert await served.ask() == 2
        async with serving(one_model("m", str(tmp_path)), poll_seconds=-1) as served:
            assert served.catalog.names() == ["m"]
            assert not served.manager.ready()
            with pytest.raises(StatusError):
                await served.ask()

    asyncio.run(run())


def test_several_models_load_side_by_side_and_never_in_the_loop(tmp_path):
    together, loop_thread, threads = threading.Barrier(2), threading.get_ident(), set()
    for name in "ab":
        export(tmp_path / name, 1)

    def met(folder, settings):
        threads.add(threading.get_ident())
        together.wait(30)  # passes only with both loads in parallel
        return session_opener()(folder, settings)

    async def run():
        config = config_of(model("a", tmp_path / "a"), model("b", tmp_path / "b"))
        async with serving(config, load=met, load_threads=2) as served:
            assert served.manager.ready()
            assert [s.name for s in served.manager.settings()] == ["a", "b"]

    asyncio.run(run())
    assert len(threads) == 2
    assert loop_thread not in threads


def test_attempts_are_reported(tmp_path):
    export(tmp_path, 1)
    attempts = []

    async def run():
        async with serving(one_model("m", str(tmp_path)), on_attempt=attempts.append):
            pass

    asyncio.run(run())
    (attempt,) = attempts
    assert (attempt.name, attempt.version, attempt.number, attempt.code) == ("m", 1, 1, OK)
    assert attempt.seconds > 0


def test_tags_choose_a_meta_graph(tmp_path):
    export(tmp_path, 1)

    async def run():
        async with serving(one_model("m", str(tmp_path)), load=session_opener(tags=["serve"])) as served:
            assert await served.ask() == 1
        async with serving(one_model("m", str(tmp_path)), load=session_opener(tags=["gpu"])) as served:
            assert "no MetaGraph has the tags {gpu}" in served.status(1).message

    asyncio.run(run())


def test_the_default_signature_is_planned_before_the_first_request(tmp_path):
    export(tmp_path, 1)

    async def run():
        async with serving(one_model("m", str(tmp_path))) as served:
            session = served.catalog.get("m").session
            before = session.plans.plans
            await served.ask()
            assert len(before) == 1
            assert session.plans.plans == before

    asyncio.run(run())


def test_a_manager_may_stop_before_it_started():
    catalog = ModelCatalog()
    asyncio.run(ModelManager(catalog, runner_for=lambda *_: ThreadRunner(None)).stop())
    assert catalog.names() == []


def test_a_manager_without_models_is_ready():
    async def run():
        async with serving() as served:
            assert served.manager.ready()
            assert served.manager.problems() == {}

    asyncio.run(run())


def test_answers_are_those_of_the_model(tmp_path):
    export(tmp_path, 1, adder(2.5))

    async def run():
        async with serving(one_model("m", str(tmp_path))) as served:
            servable = served.catalog.get("m")
            answer = await servable.predict("serving_default", {"x": np.float32([1, 2])})
            np.testing.assert_array_equal(answer["y"], np.float32([3.5, 4.5]))

    asyncio.run(run())


def test_a_version_given_up_before_its_load_begins_is_never_published(tmp_path):
    export(tmp_path, 1)
    attempts = []

    async def run():
        config = one_model("m", str(tmp_path))
        async with serving(config, poll_seconds=-1, on_attempt=attempts.append) as served:
            served.catalog.publish = lambda servable: pytest.fail("published")
            asked = served.manager._models["m"]
            asked._aspire({1: str(tmp_path / "1")}, {})
            asked.remove()
            await until(lambda: not asked.tasks)
            assert served.catalog.names() == []

    asyncio.run(run())
    assert [attempt.code for attempt in attempts] == [StatusCode.CANCELLED]
