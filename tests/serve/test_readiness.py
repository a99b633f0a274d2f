"""When a server is live, and when it is ready: real servers with models that come, go and fail."""

import http.client
import re
from contextlib import contextmanager
from pathlib import Path

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tests.serve.models.exports import config_text, export, model, saved_model, warm_up_file
from tests.serve.process import FREE, Command, command, text_file, until

from tfport.formats.proto import saved_model_pb2
from tfport.serve.rest.health_port import LIVE, READY

POLLING = ("--model_config_file_poll_wait_seconds=1", "--max_num_load_retries=0", "--log_format=json")
METRICS = "/monitoring/prometheus/metrics"


class Models:
    """A configuration file and the folders of its models."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "models.config"
        self.monitoring = folder / "monitoring.config"
        self.monitoring.write_text("prometheus_config { enable: true }")

    def configure(self, *names: str) -> None:
        text_file(self.file, config_text(*(model(name, self.folder / name) for name in names)))

    @contextmanager
    def serve(self, *flags: str):
        files = f"--model_config_file={self.file}", f"--monitoring_config_file={self.monitoring}"
        with command(*files, *POLLING, *flags) as running:
            yield running


@pytest.fixture
def models(tmp_path) -> Models:
    for name in "ab":
        export(tmp_path / name, 1)
    export(tmp_path / "broken", 1, b"nothing")
    return Models(tmp_path)


def is_ready(server: Command) -> bool | None:
    """What all pages and services say; None if they do not agree, as they are asked one after the other."""
    answers = [server.ask("GET", path)[0] == 200 for path in (READY, "/v2/health/ready")]
    with server.channel() as channel:
        check = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    answers.append(check.status == health_pb2.HealthCheckResponse.SERVING)
    return answers[0] if len(set(answers)) == 1 else None


def failed(server: Command) -> set[str] | None:
    """The models that are not available, once the metrics, the list of models and the log agree on them."""
    page = server.ask("GET", METRICS)[1]
    counted = set(re.findall(r'^tfport_model_available\{model_name="(\w+)"\} 0', page, re.MULTILINE))
    listed = {
        row["name"]
        for row in server.ask("GET", "/v1/models")[1]["models"]
        if not any(version["state"] == "AVAILABLE" for version in row["model_version_status"])
    }
    logged = [line for line in server.lines if '"level": "WARNING"' in line or '"level": "ERROR"' in line]
    told = all(any(name in line for line in logged) for name in listed)
    return listed if told and counted == listed else None


def test_models_that_are_added_later_and_fail_do_not_make_a_server_unready(models):
    models.configure("a", "b")
    with models.serve() as server:
        assert is_ready(server)
        models.configure("a", "b", "broken", "mistyped")
        until(lambda: failed(server) == {"broken", "mistyped"})
        assert is_ready(server)
        assert [server.answers(name) for name in "ab"] == [1.0, 1.0]
        assert "tfport_ready{} 1" in server.ask("GET", METRICS)[1]
        listed = {row["name"]: row for row in server.ask("GET", "/v1/models")[1]["models"]}
        assert "no such file or directory" in listed["mistyped"]["error_message"]
        assert server.statuses("broken")[1][0] == "END"
        index = {row["name"]: row for row in server.ask("POST", "/v2/repository/index")[1]}
        assert index["mistyped"]["state"] == "UNAVAILABLE"
        models.configure("a", "b")  # the error is corrected
        until(lambda: failed(server) == set())
        assert is_ready(server)


def test_a_model_that_loaded_later_must_stay_available(models):
    models.configure("a")
    with models.serve() as server:
        models.configure("a", "late")
        until(lambda: failed(server) == {"late"})
        assert is_ready(server)
        export(models.folder / "late", 1)
        until(lambda: server.answers("late"))
        (models.folder / "late" / "1").rename(models.folder / "late" / "gone")
        until(lambda: failed(server) == {"late"})
        assert is_ready(server) is False
        models.configure("a")
        until(lambda: is_ready(server))


def test_the_models_of_the_start_must_load_once(models):
    models.configure("a", "later")
    with models.serve() as server:
        assert server.answers("a") == 1.0
        assert is_ready(server) is False
        export(models.folder / "later", 1)
        until(lambda: is_ready(server))
        assert server.answers("later") == 1.0


@pytest.mark.parametrize(("when", "expected"), [("any", True), ("all", False)])
def test_one_model_may_suffice_or_all_be_required(models, when, expected):
    models.configure("a", "broken")
    with models.serve(f"--ready_when={when}") as server:
        until(lambda: failed(server) == {"broken"})
        assert is_ready(server) is expected
        models.configure("a", "b")
        until(lambda: failed(server) == set() and server.answers("b"))
        assert is_ready(server)
        models.configure("a", "b", "mistyped")
        until(lambda: failed(server) == {"mistyped"})
        assert is_ready(server) is expected


WAITING = """
import time
from pathlib import Path
import tfport

@tfport.op("WaitsForFile: (x: float) -> y: float")
@tfport.kernel("WaitsForFile")
def waits_for_file(x):
    while not Path({path!r}).exists():
        time.sleep(0.01)
    return x
"""
COPIES = """
    x = Placeholder() {dtype=float32, shape=(?)}
    y = Identity(x) {T=float32}
"""


def waits() -> bytes:
    """Return a model with the op `WaitsForFile`."""
    proto = saved_model_pb2.SavedModel.FromString(saved_model(COPIES, {"serving_default": "y:0"}))
    (node,) = (node for node in proto.meta_graphs[0].graph_def.node if node.name == "y")
    node.op = "WaitsForFile"
    del node.attr["T"]
    return proto.SerializeToString()


def test_the_port_for_probes_is_open_while_models_load(tmp_path):
    ops, go = tmp_path / "ops.py", tmp_path / "go"
    ops.write_text(WAITING.format(path=str(go)))
    export(tmp_path / "m", 1, waits(), warm_up_file(("", {"x": [1.0]})))
    flags = f"--model_base_path={tmp_path}/m", "--model_name=m", f"--ops={ops}", "--health_port=-1"
    server = Command(*flags, *FREE)

    def page(path: str) -> int:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        client.request("GET", path)
        status = client.getresponse().status
        client.close()
        return status

    try:
        until(lambda: "health_port" in server.output)
        port = int(re.search(r"health_port=(\d+)", server.output)[1])
        assert (page(LIVE), page(READY)) == (200, 503)
        assert not server.listening.is_set()
        go.touch()
        assert server.ready().health == port
        assert (page(LIVE), page(READY)) == (200, 200)
        assert server.end() == 0
    finally:
        server.close()
