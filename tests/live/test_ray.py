"""A model served by a real Ray on this machine: over HTTP, by a handle, and clean-up at the end."""

import gc
import http.client
import json
import shutil
import socket
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.recorded_models import MODELS

pytest.importorskip("orjson", reason="pip install tfport[serve]")
from tfport.serve import ray as tfport_ray

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ray = pytest.importorskip("ray", reason="pip install ray[serve]")
    serve = pytest.importorskip("ray.serve", reason="pip install ray[serve]")

pytestmark = pytest.mark.filterwarnings("ignore")
ROWS = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def processes_of(folder: str) -> list[str]:
    """Return the command lines of processes that contain a folder's name."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # the process has just ended
            continue
        if folder in line:
            lines.append(line)
    return lines


def end() -> None:
    serve.shutdown()
    ray.shutdown()
    with warnings.catch_warnings():  # Ray does not wait for the processes that it ends
        warnings.simplefilter("ignore")
        gc.collect()


@pytest.fixture(scope="module")
def folder():
    path = tempfile.mkdtemp(prefix="tfp")  # a short path: Ray makes sockets in it
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def port(folder):
    """Run two applications: one from a folder of versions, one from a store, as in a config file."""
    port = free_port()
    patch = pytest.MonkeyPatch()
    patch.setenv("TMPDIR", folder)
    base = Path(folder) / "models" / "keras"
    for version in ("1", "3"):
        shutil.copytree(MODELS / "keras_sequential", base / version)
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100 * 2**20,
        _temp_dir=f"{folder}/ray",
    )
    try:
        serve.start(http_options={"host": "127.0.0.1", "port": port})
        few = {"num_cpus": 0}
        serve.run(tfport_ray.app(base, name="keras", ray_actor_options=few), name="keras", route_prefix="/")
        other = tfport_ray.build({"model": f"local://{base / '1'}", "name": "one", "threads": "1"})
        serve.run(other, name="one", route_prefix="/one")
        yield port
    finally:
        patch.undo()
        end()


def ask(port, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, json.dumps(body) if body else None)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.fixture(scope="module")
def expected():
    import tfport

    session = tfport.Session(MODELS / "keras_sequential")
    return session.signature("serving_default")(x=ROWS)["output_0"]


@pytest.mark.parametrize("path", ["/v1/models/keras", "/v1/models/keras/versions/3", "/one/v1/models/one"])
def test_predict_over_http(port, expected, path):
    status, body = ask(port, "POST", f"{path}:predict", {"instances": ROWS.tolist()})
    assert status == 200
    np.testing.assert_array_equal(np.array(body["predictions"], np.float32), expected)


def test_status_over_http(port):
    status, body = ask(port, "GET", "/v1/models/keras")
    assert (status, body["model_version_status"][0]["version"]) == (200, "3")


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/v1/models/unknown:predict", {"instances": [1]}, 404, "Servable not found"),
        ("/v1/models/keras:predict", {"instances": ["a"]}, 400, "JSON Value"),
        ("/v1/models/keras:predict", {}, 400, "JSON Parse error: The document is empty"),
        ("/v1/models/keras:guess", {"instances": [1]}, 400, "Malformed request"),
    ],
)
def test_errors_over_http(port, path, body, status, message):
    answered, text = ask(port, "POST", path, body)
    assert answered == status
    assert message in text["error"]


def test_predict_by_a_handle(port, expected):
    handle = serve.get_app_handle("keras")
    many = [handle.predict.remote({"x": ROWS}) for _ in range(8)]
    for answer in many:
        np.testing.assert_array_equal(answer.result(timeout_s=60)["output_0"], expected)


def test_an_error_by_a_handle(port):
    handle = serve.get_app_handle("keras")
    with pytest.raises(ValueError, match='INVALID_ARGUMENT: Serving signature name: "x" not found'):
        handle.predict.remote({"x": ROWS}, "x").result(timeout_s=60)


def test_nothing_of_ray_is_left_at_the_end(port, folder):
    """The last test of this file: it ends what the others used."""
    assert processes_of(folder)
    assert list(Path(folder).glob("tfport-*/model"))
    end()
    latest = time.monotonic() + 60
    while processes_of(folder) and time.monotonic() < latest:
        time.sleep(0.2)
    assert processes_of(folder) == []
    assert list(Path(folder).glob("tfport-*")) == []
