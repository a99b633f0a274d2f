"""Models with ops that tfport cannot run: they fail to load, with every reason at once."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from tests.hostile_models import laughs
from tests.serve.models.exports import config_text, export, model, saved_model, serving, until
from tests.serve.process import command
from tests.serve.process import refused as exit_of

import tfport
from tfport.errors import CannotRun, ResourceExhausted
from tfport.runtime.engines.gpu.device_name import parse_device
from tfport.runtime.engines.gpu.gpu_engine import GpuEngine
from tfport.serve.model_catalog import VersionState
from tfport.serve.models.config import one_model
from tfport.serve.models.loading import prepare
from tfport.serve.status import StatusCode, StatusError

TWO_BAD = """
    x = Placeholder() {dtype=float32, shape=SHAPE}
    good = Neg(x) {T=float32}
    bad = AddV2(x, x) {T=float32}
    worse = Mul(bad, x) {T=float32}
"""
BOTH = ("AddV9", "Mux")
TWO = np.float32([1, 2])


def model_of(outputs: dict[str, str], shape: str = "(?)") -> bytes:
    data = saved_model(TWO_BAD.replace("SHAPE", shape), outputs)
    return data.replace(b"AddV2", b"AddV9").replace(b"\x03Mul", b"\x03Mux")


BROKEN = model_of({"serving_default": "worse:0"})
PARTLY = model_of({"serving_default": "good:0", "broken": "worse:0"})


def refused(folder, **options) -> str:
    with pytest.raises(StatusError) as raised:
        prepare(tfport.Session(folder), **options)
    assert raised.value.code is StatusCode.UNIMPLEMENTED
    return raised.value.message


@pytest.mark.parametrize("shape", ["(?)", "(...)"])
def test_every_op_without_a_kernel_is_named(tmp_path, shape):
    message = refused(export(tmp_path, 1, model_of({"serving_default": "worse:0"}, shape)))
    assert message.startswith("no signature can run: serving_default: ")
    assert all(f"({op})" in message for op in BOTH)
    assert "\n" not in message


def test_a_signature_that_is_not_the_usual_one_counts_too(tmp_path):
    message = refused(export(tmp_path, 1, PARTLY))
    assert message.startswith("1 of 2 signatures cannot run (--serve_runnable_signatures serves the others)")


def test_signatures_with_the_same_reason_are_listed_together(tmp_path):
    data = model_of({"a": "worse:0", "b": "worse:0"})
    message = refused(export(tmp_path, 1, data), all_must_run=False)
    assert message.startswith("no signature can run: a, b: ")
    assert message.count("AddV9`") == 1


@pytest.mark.parametrize(("other", "traced"), [("good:0", 0), ("bad:0", 1)])
def test_of_signatures_that_compute_the_same_one_is_checked(tmp_path, monkeypatch, other, traced):
    text = TWO_BAD.replace("SHAPE", "(?)")
    session = tfport.Session(
        export(tmp_path, 1, saved_model(text, {"serve": other, "serving_default": "good:0"}))
    )
    checked = []
    program = session.program
    monkeypatch.setattr(session, "program", lambda *run: checked.append(run) or program(*run))
    prepare(session)
    assert len(checked) == traced


def test_some_signatures_are_enough_where_that_is_wanted(tmp_path):
    session = tfport.Session(export(tmp_path, 1, PARTLY))
    prepare(session, all_must_run=False)
    assert session.signature("serving_default")(x=TWO)["y"].tolist() == [-1, -2]
    with pytest.raises(CannotRun, match=r"AddV9"):
        session.signature("broken")(x=TWO)


def test_a_model_without_signatures_is_loaded(tmp_path):
    session = tfport.Session(export(tmp_path, 1, saved_model(TWO_BAD.replace("SHAPE", "(?)"), {})))
    assert not session.model.signatures
    prepare(session)
    assert session.run("good:0", {"x:0": TWO}).tolist() == [-1, -2]


def test_a_version_that_cannot_run_leaves_the_old_one_and_is_not_tried_again(tmp_path):
    export(tmp_path, 1)
    attempts = []

    async def run():
        options = {"load_retries": 5, "retry_seconds": 60, "on_attempt": attempts.append}
        async with serving(one_model("m", str(tmp_path)), **options) as served:
            folder = export(tmp_path, 2, BROKEN)
            await until(lambda: 2 in served.states() and served.status(2).state is VersionState.END)
            assert served.status(2).code is StatusCode.UNIMPLEMENTED
            assert all(op in served.status(2).message for op in BOTH)
            assert served.status(1).state is VersionState.AVAILABLE
            assert served.manager.ready()
            assert await served.ask() == 1
            assert [attempt.number for attempt in attempts if attempt.version == 2] == [1]
            (folder / "saved_model.pb").write_bytes(
                saved_model(TWO_BAD.replace("SHAPE", "(?)"), {"serving_default": "good:0"})
            )
            await until(lambda: served.states()[2] == (VersionState.AVAILABLE, StatusCode.OK))

    asyncio.run(run())


def test_the_server_says_so_in_its_log_its_status_and_its_readiness(tmp_path):
    export(tmp_path / "good", 1)
    export(tmp_path / "broken", 1, BROKEN)
    config = tmp_path / "models.config"
    config.write_text(config_text(*(model(name, tmp_path / name) for name in ("good", "broken"))))
    with command(f"--model_config_file={config}") as running:
        state, message = running.statuses("broken")[1]
        assert state == "END"
        assert all(op in message for op in BOTH)
        assert any("broken" in line and all(op in line for op in BOTH) for line in running.lines)
        assert running.ask("GET", "/v1/health/ready")[0] == 503
        assert running.predict(1, name="broken")[0] == 404
        assert running.answers("good") == 1


def test_a_server_with_nothing_that_runs_does_not_start(tmp_path):
    export(tmp_path, 1, BROKEN)
    code, output = exit_of(tmp_path)
    assert code == 2
    assert all(op in output for op in BOTH)


def test_an_option_serves_the_signatures_that_run(tmp_path):
    export(tmp_path / "m", 1, PARTLY)
    with command(tmp_path / "m", "--model_name=m", "--serve_runnable_signatures") as running:
        assert running.predict(1) == (200, {"predictions": [-1.0]})
        body = {"signature_name": "broken", "instances": [1]}
        status, answer = running.ask("POST", "/v1/models/m:predict", body)
        assert status == 501
        assert all(op in answer["error"] for op in BOTH)
        assert running.ask("GET", "/v1/health/ready")[0] == 200


def test_planning_that_takes_for_ever_does_not_block_the_server(tmp_path):
    export(tmp_path, 1)

    async def run():
        async with serving(one_model("m", str(tmp_path)), load_seconds=0.2) as served:
            export(tmp_path, 2, saved_model(laughs(), {"serving_default": "y:0"}))
            await until(lambda: 2 in served.states() and served.status(2).state is VersionState.END)
            assert served.status(2).code is StatusCode.DEADLINE_EXCEEDED
            assert await served.ask() == 1

    asyncio.run(run())


class FullGpu(GpuEngine):
    """A GPU whose memory is too small for any weights."""

    def compile(self, *arguments, **options):
        raise ResourceExhausted("the weights need 102,220,128 bytes on cuda:0, and 45,226,446 bytes are free")


def test_weights_that_do_not_fit_into_a_gpu_prevent_loading(tmp_path):
    product = """
        x = Placeholder() {dtype=float32, shape=(?, 64)}
        dims = Const() {dtype=int32, value=int32(2)[64, 64]}
        half = Const() {dtype=float32, value=float32()[0.5]}
        w = Fill(dims, half) {T=float32, index_type=int32}
        y = MatMul(x, w) {T=float32}
    """
    folder = export(tmp_path, 1, saved_model(product, {"serving_default": "y:0"}))
    session = tfport.Session(folder, engine=FullGpu(parse_device("cpu")))
    with pytest.raises(ResourceExhausted, match="the weights need 102,220,128 bytes on cuda:0"):
        prepare(session)
