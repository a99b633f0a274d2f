"""Models that never end or use too much memory: the server answers, and serves the next request.

The server has one thread for calls. That no run is in progress after the answer shows that it is free again.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from tests.hostile_models import DOUBLING, ENDLESS
from tests.serve.models.exports import config_text, export, model, saved_model, warm_up_file
from tests.serve.process import PREDICT, Command, command, until

from tfport.formats.proto import graph_pb2, serving_pb2

MOST = 2**26
SOON = 0.3
ONE_THREAD = ("--tensorflow_inter_op_parallelism=1", "--tensorflow_intra_op_parallelism=1")
FORMS = [*ENDLESS]
NAMES = {form: form.lower().replace(",", "").replace(" ", "_") for form in FORMS}


def call_of(model: str) -> bytes:
    message = serving_pb2.PredictRequest()
    message.model_spec.name = model
    message.inputs["x"].dtype = graph_pb2.DT_FLOAT
    message.inputs["x"].tensor_shape.dim.add(size=1)
    message.inputs["x"].float_val.append(1)
    return message.SerializeToString()


def config(folder: Path, models: dict[str, bytes], more: str = "") -> tuple[str, str]:
    """Export the models and a good one, and return the flags with their configuration, and for metrics."""
    export(folder / "good", 1)
    for name, data in models.items():
        export(folder / name, 1, data)
    file = folder / "models.config"
    file.write_text(
        config_text(model("good", folder / "good"), *(model(name, folder / name, more) for name in models))
    )
    monitoring = folder / "monitoring.config"
    monitoring.write_text("prometheus_config { enable: true }")
    return f"--model_config_file={file}", f"--monitoring_config_file={monitoring}"


def threads(server: Command) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/task").iterdir()))


def memory(server: Command) -> int:
    """The memory of the process in bytes."""
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * 4096


def serves_on(server: Command) -> bool:
    """Whether nothing runs any more, and the next request is answered; on a busy machine, one may take longer
    than the timeout."""
    until(lambda: not any(runs(server).values()))
    return any(server.answers("good") == 1 for _ in range(20))


def metric(server: Command, name: str) -> dict[str, float]:
    """The values of a metric by model."""
    page = server.ask("GET", "/monitoring/prometheus/metrics")[1]
    lines = re.findall(rf'^{name}{{model_name="(.+)",version="1"}} (.+)$', page, re.MULTILINE)
    return {name: float(value) for name, value in lines}


def runs(server: Command) -> dict[str, float]:
    return metric(server, "tfport_runs_in_progress")


def models_of(graphs: dict[str, str]) -> dict[str, bytes]:
    return {NAMES[form]: saved_model(text, {"serving_default": "y:0"}) for form, text in graphs.items()}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Serves endless models, with a short timeout for REST."""
    flags = config(tmp_path_factory.mktemp("endless"), models_of(ENDLESS))
    with command(*flags, *ONE_THREAD, f"--rest_api_timeout_in_ms={int(SOON * 1000)}") as running:
        assert serves_on(running)
        yield running


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """Serves models whose tensors double, with a memory limit."""
    flags = config(tmp_path_factory.mktemp("doubling"), models_of(DOUBLING))
    with command(*flags, *ONE_THREAD, f"--max_request_memory_bytes={MOST}") as running:
        assert serves_on(running)
        yield running


@pytest.mark.parametrize("form", FORMS)
def test_an_endless_model_ends_at_the_timeout_of_rest(server, form):
    status, body = server.predict(1, name=NAMES[form])
    assert (status, body) == (504, {"error": f"Timed out: no answer within {SOON:g} seconds"})
    assert serves_on(server)


@pytest.mark.parametrize("form", FORMS)
def test_an_endless_model_ends_at_the_deadline_of_grpc(server, form):
    with server.channel() as channel, pytest.raises(grpc.RpcError) as raised:
        channel.unary_unary(PREDICT)(call_of(NAMES[form]), timeout=SOON)
    assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert serves_on(server)


@pytest.mark.parametrize("form", ["While, island", "While, host"])
def test_an_endless_model_ends_when_a_client_of_grpc_cancels(server, form):
    with server.channel() as channel:
        call = channel.unary_unary(PREDICT).future(call_of(NAMES[form]))
        with pytest.raises(grpc.FutureTimeoutError):
            call.result(SOON)
        call.cancel()
        assert serves_on(server)


@pytest.fixture(scope="module")
def patient(tmp_path_factory):
    """A server that sets no time limit for requests."""
    data = saved_model(ENDLESS["While, island"], {"serving_default": "y:0"})
    folder = tmp_path_factory.mktemp("patient")
    with command(*config(folder, {"endless": data}), *ONE_THREAD, "--rest_api_timeout_in_ms=0") as running:
        assert serves_on(running)
        yield running


def test_an_endless_model_ends_when_a_client_of_rest_disconnects(patient):
    client = http.client.HTTPConnection(patient.host, patient.rest)
    client.request("POST", "/v1/models/endless:predict", json.dumps({"instances": [1]}))
    client.sock.settimeout(SOON)
    with pytest.raises(TimeoutError):
        client.getresponse()
    client.close()
    assert serves_on(patient)


@contextmanager
def endless_calls(server: Command, count: int) -> Iterator[None]:
    """Calls without a deadline, which have arrived."""
    with server.channel() as channel:
        calls = [channel.unary_unary(PREDICT).future(call_of("endless")) for _ in range(count)]
        until(lambda: metric(server, "tfport_queue_depth").get("endless") == count)
        try:
            yield
        finally:
            for call in calls:
                call.cancel()
    assert serves_on(server)


def test_endless_calls_of_a_model_stop_no_other(patient):
    with endless_calls(patient, 3):
        until(lambda: runs(patient) == {"endless": 1, "good": 0})
        for _ in range(3):
            assert patient.answers("good") == 1
        assert metric(patient, "tfport_oldest_run_seconds")["endless"] > 0
        assert metric(patient, "tfport_stuck_runs") == {"endless": 0, "good": 0}


@pytest.mark.parametrize(("more", "flag", "most"), [("", 2, 2), ("max_concurrent_runs: 3", 2, 3)])
def test_the_runs_of_a_model_are_limited(tmp_path, more, flag, most):
    data = saved_model(ENDLESS["While, island"], {"serving_default": "y:0"})
    flags = ("--tensorflow_inter_op_parallelism=8", f"--max_concurrent_runs={flag}")
    with command(*config(tmp_path, {"endless": data}, more), *flags) as running, endless_calls(running, 6):
        until(lambda: runs(running)["endless"] == most)
        assert running.answers("good") == 1
        assert runs(running)["endless"] == most


@pytest.mark.parametrize("form", FORMS)
def test_a_model_that_doubles_a_tensor_exhausts_its_memory_only(limited, form):
    status, body = limited.predict(1, name=NAMES[form])
    assert status == 429
    assert "`z`: " in body["error"]
    assert "bytes" in body["error"]
    with limited.channel() as channel, pytest.raises(grpc.RpcError) as raised:
        channel.unary_unary(PREDICT)(call_of(NAMES[form]))
    assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert serves_on(limited)


@pytest.mark.parametrize("kind", ["server", "limited"])
def test_threads_and_memory_come_back(request, kind):
    running = request.getfixturevalue(kind)

    def ask_all() -> None:
        for name in NAMES.values():
            assert running.predict(1, name=name)[0] in (429, 504)
        assert serves_on(running)

    ask_all()  # each model has its plan and its threads then
    before = threads(running), memory(running)
    ask_all()
    assert threads(running) < before[0] + len(NAMES)  # a call that kept its thread would add one per model
    until(lambda: memory(running) < before[1] + MOST)  # the server returns it when it looks next


def test_options_limit_the_iterations_and_the_time_of_calls_without_a_deadline(tmp_path):
    data = saved_model(ENDLESS["TF1 loop, island"], {"serving_default": "y:0"})
    flags = config(tmp_path, {"endless": data})
    with command(*flags, *ONE_THREAD, "--max_loop_iterations=1000") as running, running.channel() as channel:
        with pytest.raises(grpc.RpcError) as raised:
            channel.unary_unary(PREDICT)(call_of("endless"))
        assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "does not end within 1,000 iterations" in raised.value.details()
        assert serves_on(running)
    with command(*flags, *ONE_THREAD, "--max_run_seconds=1") as running, running.channel() as channel:
        with pytest.raises(grpc.RpcError) as raised:
            channel.unary_unary(PREDICT)(call_of("endless"))
        assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert raised.value.details() == "the run was stopped after 1 seconds"
        assert serves_on(running)


def test_a_version_that_never_ends_loading_stops_no_calls(tmp_path):
    data = saved_model(ENDLESS["While, host"], {"serving_default": "y:0"})
    flags = config(tmp_path, {"endless": data})
    with command(*flags, *ONE_THREAD) as running:
        export(tmp_path / "endless", 2, data, warm_up_file(("", {"x": [1]})))
        until(lambda: running.statuses("endless").get(2, ("", ""))[0] == "LOADING")
        assert serves_on(running)
        assert running.statuses("endless")[2][0] == "LOADING"
