"""Large bodies are read outside of the server process: health checks do not wait for them."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.serve.models.exports import export
from tests.serve.process import Command, command, until

from tfport.serve.workers.pool import LARGE

SIZE = LARGE // 4
"""Elements of a large body: each is written with at least four characters."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    base = tmp_path_factory.mktemp("models") / "m"
    export(base, 3)
    with command(base) as running:
        yield running
        assert running.end() == 0


def workers(server: Command) -> list[int]:
    """Return the processes that the server has started."""
    tasks = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    return [int(pid) for task in tasks for pid in task.read_text().split()]


def v1(values: list[float]) -> tuple[str, object]:
    return "/v1/models/m:predict", {"instances": values}


def v2(values: list[float]) -> tuple[str, object]:
    tensor = {"name": "x", "shape": [len(values)], "datatype": "FP32", "data": values}
    return "/v2/models/m/infer", {"inputs": [tensor]}


def numbers(body: dict) -> list[float]:
    return body["predictions"] if "predictions" in body else body["outputs"][0]["data"]


@pytest.mark.parametrize("protocol", [v1, v2])
def test_health_answers_while_a_large_body_is_read(server, protocol):
    status, body = server.ask("POST", *protocol([0.5] * SIZE))
    assert (status, set(numbers(body))) == (200, {3.5})
    (worker,) = workers(server)
    os.kill(worker, signal.SIGSTOP)  # reads the next body as slowly as possible
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(server.ask, "POST", *protocol([1.5] * SIZE))
        try:
            for _ in range(3):
                assert server.ask("GET", "/v1/health/ready")[0] == 200
                assert server.answers() == 3
            assert not asked.done()
        finally:
            os.kill(worker, signal.SIGCONT)
        status, body = asked.result()
    assert (status, set(numbers(body))) == (200, {4.5})


def test_errors_of_large_bodies_are_those_of_small_ones(server):
    for rows in (["a"], [[1], [2, 3]], [{"z": 1}]):
        small = server.ask("POST", "/v1/models/m:predict", {"instances": rows})
        large = json.dumps({"instances": rows}).encode() + b" " * LARGE
        assert server.ask("POST", "/v1/models/m:predict", large) == small
        assert small[0] == 400


def test_a_worker_that_is_killed_costs_one_request(server):
    assert server.ask("POST", *v1([0.5] * SIZE))[0] == 200
    (worker,) = workers(server)
    os.kill(worker, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(server.ask, "POST", *v1([0.5] * SIZE))
        os.kill(worker, signal.SIGKILL)
        status, body = asked.result()
    assert (status, "it may have run out of memory" in body["error"]) == (429, True)
    assert server.ask("POST", *v1([0.5] * SIZE))[0] == 200


def test_workers_end_with_the_server(tmp_path):
    export(tmp_path / "m", 3)
    with command(tmp_path / "m") as running:
        assert running.ask("POST", *v1([0.5] * SIZE))[0] == 200
        (worker,) = workers(running)
        assert running.end(signal.SIGKILL) == -signal.SIGKILL
        until(lambda: not Path(f"/proc/{worker}").exists())


def test_bodies_are_read_in_the_server_without_processes(tmp_path):
    export(tmp_path / "m", 3)
    with command(tmp_path / "m", "--rest_api_body_processes=0") as running:
        status, body = running.ask("POST", *v1([0.5] * SIZE))
        assert (status, set(body["predictions"])) == (200, {3.5})
        assert workers(running) == []
