"""Reload configurations at run time, with TensorFlow Serving's answers."""

from __future__ import annotations

import asyncio
import threading

import pytest
from tests.serve.models.exports import adder, config_of, export, model, serving, until

from tfport.formats.proto import model_server_config_pb2 as pb
from tfport.serve.model_catalog import VersionState
from tfport.serve.models.loading import session_opener
from tfport.serve.servable import ThreadRunner
from tfport.serve.status import StatusCode, StatusError

OK = StatusCode.OK
ALL = "model_version_policy { all {} }"


def labels(**versions: int) -> str:
    return " ".join(
        f'version_labels {{ key: "{label}" value: {value} }}' for label, value in versions.items()
    )


async def refused(awaitable) -> StatusError:
    with pytest.raises(StatusError) as raised:
        await awaitable
    return raised.value


def test_models_are_added_and_removed(tmp_path):
    for name, version in (("a", 1), ("b", 2)):
        export(tmp_path / name, version)
    a, b = model("a", tmp_path / "a"), model("b", tmp_path / "b")

    async def run():
        async with serving(config_of(a)) as served:
            await served.manager.reload(config_of(a, b))
            assert (await served.ask("a"), await served.ask("b")) == (1, 2)
            await served.manager.reload(config_of(b))
            assert (await refused(served.ask("a"))).code is StatusCode.NOT_FOUND
            await until(lambda: served.catalog.names() == ["b"])
            await served.manager.reload(config_of())  # all of them
            await until(lambda: served.catalog.names() == [])
            assert served.manager.ready()
            await served.manager.reload(config_of(a))
            assert await served.ask("a") == 1

    asyncio.run(run())


def test_another_policy_and_another_base_path(tmp_path):
    for version in (1, 2):
        export(tmp_path / "a", version)
        export(tmp_path / "b", version, adder(version + 100))

    async def run():
        async with serving(config_of(model("m", tmp_path / "a"))) as served:
            await served.manager.reload(config_of(model("m", tmp_path / "a", ALL)))
            assert served.states() == dict.fromkeys((1, 2), (VersionState.AVAILABLE, OK))
            await served.manager.reload(config_of(model("m", tmp_path / "b", ALL)))
            assert [await served.ask(version=v) for v in (1, 2)] == [101, 102]
            await until(lambda: len(served.manager._models["m"].versions) == 2)  # the old ones are gone
            assert served.states() == dict.fromkeys((1, 2), (VersionState.AVAILABLE, OK))
            assert [await served.ask(version=v) for v in (1, 2)] == [101, 102]

    asyncio.run(run())


def test_a_base_path_without_anything_keeps_what_is_loaded(tmp_path):
    export(tmp_path / "a", 1)

    async def run():
        async with serving(config_of(model("m", tmp_path / "a"))) as served:
            await served.manager.reload(config_of(model("m", tmp_path / "none")))
            assert await served.ask() == 1

    asyncio.run(run())


def test_a_new_model_that_cannot_load_is_reported_and_stays_configured(tmp_path):
    export(tmp_path / "a", 1)
    export(tmp_path / "b", 7, b"\xff")
    a, b, c = (model(name, tmp_path / name) for name in "abc")

    async def run():
        async with serving(config_of(a), ready_when="all") as served:
            error = await refused(served.manager.reload(config_of(a, b, c)))
            assert error.code is StatusCode.UNKNOWN
            assert error.message.startswith(
                "2 model(s) did not become available: {{{name: b version: 7} due to"
            )
            assert "error: DATA_LOSS: " in error.message
            assert "{{name: c} due to error: NOT_FOUND: c: " in error.message
            assert await served.ask("a") == 1
            assert served.status(7, "b").state is VersionState.END
            export(tmp_path / "b", 8)
            export(tmp_path / "c", 9)
            await until(served.manager.ready)
            assert (await served.ask("b"), await served.ask("c")) == (8, 9)

    asyncio.run(run())


NONSENSE = [  # configuration, code
    (pb.ModelServerConfig(), StatusCode.INVALID_ARGUMENT),
    (config_of(model("m", "relative")), StatusCode.INVALID_ARGUMENT),
    (config_of(model("m", "/a"), model("m", "/b")), StatusCode.INVALID_ARGUMENT),
    (config_of(model("m", "/a", labels(stable=1))), StatusCode.FAILED_PRECONDITION),
]


@pytest.mark.parametrize(("config", "code"), NONSENSE)
def test_what_is_refused_changes_nothing(tmp_path, config, code):
    export(tmp_path, 2)
    custom = pb.ModelServerConfig()
    custom.custom_model_config.type_url = "x"

    async def run():
        async with serving(config_of(model("m", tmp_path))) as served:
            before = served.manager.config
            assert (await refused(served.manager.reload(config))).code is code
            assert (await refused(served.manager.reload(custom))).code is StatusCode.INVALID_ARGUMENT
            assert served.manager.config is before
            assert await served.ask() == 2

    asyncio.run(run())


def test_a_server_that_stops_takes_no_configuration(tmp_path):
    async def run():
        async with serving(config_of()) as served:
            await served.manager.stop()
            assert (await refused(served.manager.reload(config_of()))).code is StatusCode.UNAVAILABLE

    asyncio.run(run())


def test_labels_are_given_to_versions_that_answer(tmp_path):
    for version in (1, 2):
        export(tmp_path, version)

    async def run():
        async with serving(config_of(model("m", tmp_path, ALL))) as served:
            await served.manager.reload(config_of(model("m", tmp_path, ALL + labels(stable=1, canary=2))))
            assert (await served.ask(label="stable"), await served.ask(label="canary")) == (1, 2)
            error = await refused(
                served.manager.reload(config_of(model("m", tmp_path, ALL + labels(stable=3))))
            )
            assert (error.code, error.message) == (
                StatusCode.FAILED_PRECONDITION,
                "Request to assign label to version 3 of model m, "
                "which is not currently available for inference",
            )
            assert await served.ask(label="stable") == 1
            await served.manager.reload(config_of(model("m", tmp_path, ALL + labels(stable=2))))
            assert await served.ask(label="stable") == 2
            assert (await refused(served.ask(label="canary"))).code is StatusCode.INVALID_ARGUMENT

    asyncio.run(run())


def test_labels_at_the_start_need_leave(tmp_path):
    export(tmp_path, 1)
    config = config_of(model("m", tmp_path, labels(stable=1, next=9)))

    async def run():
        with pytest.raises(StatusError) as raised:
            async with serving(config):
                pass
        assert raised.value.code is StatusCode.FAILED_PRECONDITION
        async with serving(config, labels_for_unavailable=True) as served:
            assert await served.ask(label="stable") == 1
            assert (await refused(served.ask(label="next"))).code is StatusCode.NOT_FOUND
            moved = config_of(
                model("m", tmp_path, labels(stable=9))
            )  # a label in use needs an available version
            assert (await refused(served.manager.reload(moved))).code is StatusCode.FAILED_PRECONDITION

    asyncio.run(run())


class Gate:
    """Loads that wait until they are released, and signal their start."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.open = threading.Event()

    def __call__(self, folder, settings):
        self.begun.append(settings.name)
        assert self.open.wait(30)
        return session_opener()(folder, settings)


def test_a_reload_during_a_load_waits_its_turn(tmp_path):
    for name, version in (("a", 1), ("b", 2), ("c", 3)):
        export(tmp_path / name, version)
    a, b, c = (model(name, tmp_path / name) for name in "abc")
    gate = Gate()

    async def run():
        gate.open.set()
        async with serving(config_of(a), load=gate) as served:
            gate.open.clear()
            first = asyncio.create_task(served.manager.reload(config_of(a, b)))
            await until(lambda: "b" in gate.begun)
            second = asyncio.create_task(served.manager.reload(config_of(a, c)))
            await asyncio.sleep(0.02)
            assert await served.ask("a") == 1
            assert "c" not in gate.begun
            gate.open.set()
            await asyncio.gather(first, second)
            await until(lambda: served.catalog.names() == ["a", "c"])
            assert await served.ask("c") == 3

    asyncio.run(run())


def test_a_client_that_goes_away_during_a_reload_leaves_the_server_whole(tmp_path):
    for name, version in (("a", 1), ("b", 2)):
        export(tmp_path / name, version)
    a, b = model("a", tmp_path / "a"), model("b", tmp_path / "b")
    gate = Gate()

    async def run():
        gate.open.set()
        async with serving(config_of(a), load=gate, ready_when="all") as served:
            gate.open.clear()
            call = asyncio.create_task(served.manager.reload(config_of(a, b)))
            await until(lambda: "b" in gate.begun)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            gate.open.set()
            await until(served.manager.ready)
            assert await served.ask("b") == 2
            await served.manager.reload(config_of(a))

    asyncio.run(run())


def test_a_model_removed_while_it_loads_never_answers_and_can_come_back(tmp_path):
    export(tmp_path / "b", 2)
    b = model("b", tmp_path / "b")
    gate = Gate()

    async def run():
        async with serving(config_of(), load=gate) as served:
            call = asyncio.create_task(served.manager.reload(config_of(b)))
            await until(lambda: gate.begun == ["b"])
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await served.manager.reload(config_of())
            back = asyncio.create_task(served.manager.reload(config_of(b)))
            await asyncio.sleep(0.02)
            gate.open.set()
            await back
            assert await served.ask("b") == 2
            assert served.states("b") == {2: (VersionState.AVAILABLE, OK)}
            await served.manager.reload(config_of())
            await until(lambda: served.catalog.names() == [])

    asyncio.run(run())


def test_a_model_that_comes_back_while_it_drains(tmp_path):
    export(tmp_path, 1)
    go = asyncio.Event()

    class Waiting(ThreadRunner):
        async def __call__(self, *args):
            await go.wait()
            return await super().__call__(*args)

    async def run():
        config = config_of(model("m", tmp_path))
        async with serving(config, runner_for=lambda *_: Waiting(None)) as served:
            call = asyncio.create_task(served.ask())
            await until(lambda: served.catalog.get("m").running == 1)
            await served.manager.reload(config_of())
            assert served.status(1).state is VersionState.UNLOADING
            back = asyncio.create_task(served.manager.reload(config))
            await asyncio.sleep(0.02)
            go.set()
            assert await call == 1
            await back
            assert await served.ask() == 1
            assert served.manager.ready()

    asyncio.run(run())
