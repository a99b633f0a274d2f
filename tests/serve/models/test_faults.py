"""Faults on disk: the old version stays available, the reason is reported, and repairs are noticed."""

from __future__ import annotations

import asyncio
import shutil

import pytest
from tests.hostile_models import ENDLESS
from tests.serve.models.exports import (
    adder,
    config_of,
    export,
    model,
    saved_model,
    serving,
    until,
    warm_up_file,
)

from tfport.formats.proto.saved_model_pb2 import SavedModel
from tfport.formats.saved_model.warmup import WARMUP
from tfport.serve.model_catalog import VersionState
from tfport.serve.models import warmup
from tfport.serve.models.config import one_model
from tfport.serve.status import StatusCode, StatusError

OK = StatusCode.OK
X_TWICE = warm_up_file(("serving_default", {"x": [1, 2]}), ("", {"x": [3]}))
BROKEN = [  # fault, model, warm-up, code, message
    ("no protobuf", b"\xff\xff\xff", None, StatusCode.DATA_LOSS, "saved_model.pb"),
    ("cut off", adder(2)[:-20], None, StatusCode.DATA_LOSS, "saved_model.pb"),
    ("empty", b"", None, None, ""),
    ("an unknown op", saved_model(
        "x = Placeholder() {dtype=float32, shape=(?)}\ny = AddV2(x, x) {T=float32}", {"a": "y:0"}
    ).replace(b"AddV2", b"AddV9"), warm_up_file(("a", {"x": [1]})), StatusCode.UNIMPLEMENTED, "AddV9"),
    ("warm-up of another input", None, warm_up_file(("", {"z": [1]})), StatusCode.INVALID_ARGUMENT,
     "Signature input alias: x(feed name: x:0) not found in request"),
    ("warm-up of another signature", None, warm_up_file(("other", {"x": [1]})),
     StatusCode.FAILED_PRECONDITION, 'Serving signature key "other" not found.'),
    ("warm-up cut off", None, X_TWICE[:-3], StatusCode.DATA_LOSS, "the record is truncated"),
    ("too many warm-up requests", None, warm_up_file(("", {"x": [1]})) * 1001, StatusCode.INVALID_ARGUMENT,
     "Number of warmup records exceeds the maximum (1000) at"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "warm_up", "code", "message"), [c[1:] for c in BROKEN], ids=[c[0] for c in BROKEN]
)
def test_a_new_version_that_cannot_load_leaves_the_old_one(tmp_path, data, warm_up, code, message):
    export(tmp_path, 1)

    async def run():
        async with serving(one_model("m", str(tmp_path))) as served:
            export(tmp_path, 2, data, warm_up)
            await until(lambda: 2 in served.states() and served.status(2).state is VersionState.END)
            status = served.status(2)
            assert status.code is code or (code is None and status.code is not OK)
            assert message in status.message
            assert "\n" not in status.message
            assert served.status(1).state is VersionState.AVAILABLE
            assert await served.ask() == 1
            assert served.manager.ready()
            shutil.rmtree(tmp_path / "2")  # dropped: the old version is requested again
            await asyncio.sleep(0.05)
            assert served.states()[1] == (VersionState.AVAILABLE, OK)

    asyncio.run(run())


def test_a_version_that_is_repaired_in_place_is_loaded(tmp_path):
    export(tmp_path, 1)

    async def run():
        async with serving(one_model("m", str(tmp_path))) as served:
            folder = export(tmp_path, 2, b"\xff")
            await until(lambda: 2 in served.states() and served.status(2).state is VersionState.END)
            (folder / "saved_model.pb").write_bytes(adder(2))
            await until(
                lambda: served.states() == {1: (VersionState.END, OK), 2: (VersionState.AVAILABLE, OK)}
            )
            assert await served.ask() == 2

    asyncio.run(run())


def test_a_version_that_is_copied_slowly_is_loaded_in_the_end(tmp_path):
    async def run():
        async with serving(one_model("m", str(tmp_path))) as served:
            (tmp_path / "1").mkdir()
            await until(lambda: served.manager._models["m"].versions != {})
            await until(lambda: served.states() == {1: (VersionState.END, StatusCode.NOT_FOUND)})
            data = adder(1)
            (tmp_path / "1/saved_model.pb").write_bytes(data[:50])
            await until(lambda: served.status(1).code is StatusCode.DATA_LOSS)
            (tmp_path / "1/saved_model.pb").write_bytes(data)
            await until(served.manager.ready)
            assert await served.ask() == 1

    asyncio.run(run())


def test_loads_are_tried_again(tmp_path):
    export(tmp_path, 1, b"\xff")
    attempts = []

    def repair(attempt):
        attempts.append((attempt.number, attempt.code))
        if attempt.number == 2:
            (tmp_path / "1/saved_model.pb").write_bytes(adder(1))

    async def run():
        async with serving(one_model("m", str(tmp_path)), load_retries=5, on_attempt=repair) as served:
            await until(served.manager.ready)
            assert await served.ask() == 1

    asyncio.run(run())
    assert attempts == [(1, StatusCode.DATA_LOSS), (2, StatusCode.DATA_LOSS), (3, OK)]


def test_the_reason_is_reported_before_a_retry_and_the_start_does_not_wait(tmp_path):
    export(tmp_path, 1, b"\xff")

    async def run():
        async with serving(one_model("m", str(tmp_path)), load_retries=5, retry_seconds=60) as served:
            status = served.status(1)
            assert (status.state, status.code) == (VersionState.LOADING, StatusCode.DATA_LOSS)
            assert "saved_model.pb" in served.manager.problems()["m"]
            shutil.rmtree(tmp_path / "1")  # the manager does not wait a minute for it
            await until(lambda: served.status(1).state is VersionState.END)
            folder = export(tmp_path, 2, b"\xff")
            await until(lambda: 2 in served.states() and served.status(2).code is StatusCode.DATA_LOSS)
            (folder / "saved_model.pb").write_bytes(adder(2))  # nor for a file that was written again
            await until(served.manager.ready)
            assert await served.ask() == 2

    asyncio.run(run())


def test_of_two_models_one_is_broken(tmp_path):
    export(tmp_path / "good", 3)
    export(tmp_path / "bad", 1, b"\xff")

    async def run():
        config = config_of(model("bad", tmp_path / "bad"), model("good", tmp_path / "good"))
        async with serving(config) as served:
            assert await served.ask("good") == 3
            assert not served.manager.ready()
            assert list(served.manager.problems()) == ["bad"]
            export(tmp_path / "bad", 2)
            await until(served.manager.ready)
            assert await served.ask("bad") == 2

    asyncio.run(run())


def test_a_removed_version_is_unloaded(tmp_path):
    for version in (1, 2):
        export(tmp_path, version)

    async def run():
        async with serving(one_model("m", str(tmp_path))) as served:
            shutil.rmtree(tmp_path / "2")
            await until(
                lambda: served.states() == {1: (VersionState.AVAILABLE, OK), 2: (VersionState.END, OK)}
            )
            assert await served.ask() == 1
            with pytest.raises(StatusError) as raised:
                await served.ask(version=2)
            assert raised.value.code is StatusCode.NOT_FOUND

    asyncio.run(run())


def test_the_last_version_goes_too_unless_one_is_always_to_be_present(tmp_path):
    export(tmp_path, 1)

    async def run():
        async with serving(one_model("m", str(tmp_path)), always_present=True) as served:
            (tmp_path / "1").rename(tmp_path / "kept")
            await until(lambda: "no versions under" in served.manager._models["m"].problem)
            assert await served.ask() == 1
            (tmp_path / "kept").rename(tmp_path / "1")
        async with serving(one_model("m", str(tmp_path))) as served:
            shutil.rmtree(tmp_path / "1")
            await until(lambda: served.states() == {1: (VersionState.END, OK)})
            assert not served.manager.ready()

    asyncio.run(run())


def test_a_base_path_that_goes_and_comes_back(tmp_path, caplog):
    base, away = tmp_path / "base", tmp_path / "away"
    export(base, 1)

    async def run():
        async with serving(one_model("m", str(base))) as served:
            base.rename(away)
            await until(lambda: served.manager._models["m"].problem != "")
            assert await served.ask() == 1  # loaded versions stay
            assert served.manager.ready()
            export(away, 2)
            away.rename(base)
            await until(
                lambda: served.states() == {1: (VersionState.END, OK), 2: (VersionState.AVAILABLE, OK)}
            )
            assert await served.ask() == 2

    asyncio.run(run())
    assert sum("no such" in message for message in caplog.messages) == 1  # logged once


def test_a_base_path_that_comes_late(tmp_path):
    async def run():
        async with serving(one_model("m", str(tmp_path / "late"))) as served:
            assert "no such" in served.manager.problems()["m"]
            export(tmp_path / "late", 1)
            await until(served.manager.ready)
            assert await served.ask() == 1

    asyncio.run(run())


def test_a_specific_version_that_is_missing_comes_later(tmp_path, caplog):
    export(tmp_path, 1)

    async def run():
        config = config_of(model("m", tmp_path, "model_version_policy { specific { versions: 2 } }"))
        async with serving(config) as served:
            assert "none of the requested versions" in served.manager.problems()["m"]
            export(tmp_path, 2)
            await until(served.manager.ready)
            assert await served.ask() == 2

    asyncio.run(run())


def test_warm_up_runs_before_a_version_is_available_and_can_be_disabled(tmp_path):
    export(tmp_path, 1, warm_up=X_TWICE)
    assert (tmp_path / "1" / WARMUP).exists()
    asked = []

    def counting(folder, settings):
        from tfport.serve.models.loading import session_opener

        session = session_opener()(folder, settings)
        run = session.run
        session.run = lambda *args, **options: asked.append(1) or run(*args, **options)
        return session

    async def run(**options):
        asked.clear()
        async with serving(one_model("m", str(tmp_path)), load=counting, **options) as served:
            assert served.manager.ready()
        return len(asked)

    assert asyncio.run(run()) == 2
    assert asyncio.run(run(warm_up_iterations=3)) == 6
    assert asyncio.run(run(warm_up=False)) == 0


ENDLESS_AT_LOAD = """
    one = Const() {dtype=float32, value=float32(1)[1]}
    v = VarHandleOp() {dtype=float32, shape=(?), shared_name="v"}
    init = AssignVariableOp(v, y) {dtype=float32}
    x = PlaceholderWithDefault(one) {dtype=float32, shape=(?)}
"""


def endless_at_load() -> bytes:
    """Return a model whose init op never ends."""
    first, *rest = ENDLESS["While, island"].strip().splitlines()
    assert first.startswith("x = Placeholder()")
    text = ENDLESS_AT_LOAD + "\n".join(rest)
    model = SavedModel.FromString(saved_model(text, {"serving_default": "y:0"}))
    signature = model.meta_graphs[0].signature_def["__saved_model_init_op"]
    signature.outputs["__saved_model_init_op"].name = "init"
    return model.SerializeToString()


def test_a_warm_up_request_that_never_ends_fails_to_load(tmp_path, monkeypatch):
    def replayed(*args):  # so that only the request is out of time, on a slow machine too
        return replay(*args[:-1], timeout=0.05)

    replay = warmup.replay
    monkeypatch.setattr(warmup, "replay", replayed)
    export(tmp_path, 1)

    async def run():
        async with serving(one_model("m", str(tmp_path))) as served:
            endless = saved_model(ENDLESS["While, host"], {"serving_default": "y:0"})
            export(tmp_path, 2, endless, warm_up_file(("", {"x": [1]})))
            await until(lambda: 2 in served.states() and served.status(2).state is VersionState.END)
            message = served.status(2).message
            assert "warm-up request 1 takes too long (--load_timeout_seconds)" in message
            assert await served.ask() == 1

    asyncio.run(run())


def test_a_model_that_never_ends_while_it_is_initialized_fails_to_load(tmp_path):
    export(tmp_path, 1)

    async def run():
        async with serving(one_model("m", str(tmp_path)), load_seconds=0.1) as served:
            export(tmp_path, 2, endless_at_load())
            await until(lambda: 2 in served.states() and served.status(2).state is VersionState.END)
            assert served.status(2).code is StatusCode.DEADLINE_EXCEEDED
            assert (
                "initializing the model takes too long (--load_timeout_seconds)" in served.status(2).message
            )
            assert await served.ask() == 1

    asyncio.run(run())


def test_a_version_that_is_dropped_while_it_warms_up_stops(tmp_path):
    export(tmp_path, 1)
    endless = saved_model(ENDLESS["While, island"], {"serving_default": "y:0"})

    async def run():
        async with serving(one_model("m", str(tmp_path)), load_seconds=0) as served:
            export(tmp_path, 2, endless, X_TWICE)
            await until(lambda: 2 in served.states() and served.status(2).state is VersionState.LOADING)
            shutil.rmtree(tmp_path / "2")
            export(tmp_path, 3)  # loaded by the only loading thread
            await until(lambda: served.states().get(3) == (VersionState.AVAILABLE, OK))
            assert await served.ask() == 3

    asyncio.run(run())
