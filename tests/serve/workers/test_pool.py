"""Large bodies are read in other processes, in bounded number, and their ends are survived."""

import asyncio
import os
import signal
import socket
import subprocess
import threading
import time

import numpy as np
import pytest

from tfport.serve.status import StatusCode, StatusError, invalid_argument
from tfport.serve.workers import pool as pool_module
from tfport.serve.workers.pool import WorkerPool
from tfport.serve.workers.transfer import MemoryFile

PATIENCE = 60


def file_of(content: bytes) -> MemoryFile:
    file = MemoryFile()
    file.write(content)
    return file


# -- jobs: workers import this module to run them -----------------------------------------------------


def reversed_by(body: bytes, *args: object) -> tuple[bytes, int, tuple[object, ...]]:
    return body[::-1], os.getpid(), args


def refusing(body: bytes) -> None:
    raise invalid_argument(f"refused: {body.decode()}")


def failing(body: bytes) -> None:
    raise KeyError(body.decode())


def out_of_memory(body: bytes) -> None:
    raise MemoryError


def killed(body: bytes) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def endless(body: bytes) -> None:
    with open(body, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(1000)


def strings(body: bytes) -> dict[str, object]:
    return {"s": np.array([[body, b""]], object), "n": np.arange(3, dtype=np.int8)}


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def workers():
    made = WorkerPool(processes=1)
    yield made
    made.close()


def in_loop(work):
    return asyncio.run(asyncio.wait_for(work, PATIENCE))


def test_a_worker_gets_at_least_half_the_processor_time_of_the_server(workers):
    pid = in_loop(workers.read(file_of(b"abc"), reversed_by))[1]
    behind = os.getpriority(os.PRIO_PROCESS, pid) - os.getpriority(os.PRIO_PROCESS, 0)
    assert behind >= 0  # health checks come first
    assert 1.25**-behind >= 0.5  # the scheduler gives each step of niceness four fifths of the time


def test_a_large_body_is_read_in_another_process_that_is_kept(workers):
    async def check():
        first = await workers.read(file_of(b"abc"), reversed_by, 1, "x")
        second = await workers.read(file_of(b"def"), reversed_by)
        return first, second

    first, second = in_loop(check())
    assert (first[0], first[2], second[0]) == (b"cba", (1, "x"), b"fed")
    assert first[1] == second[1] != os.getpid()


def test_a_small_body_is_read_here(workers):
    assert in_loop(workers.read(b"abc", reversed_by))[1] == os.getpid()


def test_arrays_come_back(workers):
    arrays = in_loop(workers.read(file_of(b"text"), strings))
    assert arrays["s"].tolist() == [[b"text", b""]]
    assert arrays["n"].tolist() == [0, 1, 2]
    assert arrays["n"].dtype == np.int8


@pytest.mark.parametrize(
    ("job", "code", "message"),
    [
        (refusing, StatusCode.INVALID_ARGUMENT, "refused: x"),
        (out_of_memory, StatusCode.RESOURCE_EXHAUSTED, "OOM: not enough memory to read the body"),
        (
            killed,
            StatusCode.RESOURCE_EXHAUSTED,
            "The process that read the body of 1 bytes ended with exit code -9; "
            "it may have run out of memory",
        ),
    ],
)
def test_errors_arrive_and_the_next_body_is_read(workers, job, code, message):
    async def check():
        with pytest.raises(StatusError) as caught:
            await workers.read(file_of(b"x"), job)
        assert (caught.value.code, caught.value.message) == (code, message)
        assert (await workers.read(file_of(b"abc"), reversed_by))[0] == b"cba"

    in_loop(check())


def test_an_error_of_the_server_keeps_its_type(workers):
    with pytest.raises(KeyError, match="x"):
        in_loop(workers.read(file_of(b"x"), failing))


def test_a_cancelled_request_ends_its_worker(workers, tmp_path):
    async def check():
        note = tmp_path / "pid"
        reading = asyncio.ensure_future(workers.read(file_of(bytes(note)), endless))
        while not (note.exists() and note.read_text()):
            await asyncio.sleep(0.01)
        waiting = asyncio.ensure_future(workers.read(file_of(b"abc"), reversed_by))
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert (await waiting)[0] == b"cba"
        assert not is_running(int(note.read_text()))

    in_loop(check())


def test_idle_workers_end_and_the_memory_of_bodies_is_freed(workers, monkeypatch):
    monkeypatch.setattr(pool_module, "IDLE_SECONDS", 0.01)

    async def check():
        body = file_of(b"abc")
        pid = (await workers.read(body, reversed_by))[1]
        assert body.fd == -1
        while is_running(pid):
            await asyncio.sleep(0.01)
        assert (await workers.read(file_of(b"abc"), reversed_by))[0] == b"cba"

    in_loop(check())


def test_a_pool_closes_although_its_sockets_have_duplicates(workers):
    """As in the middle of another listing of the sockets of the process."""
    in_loop(workers.read(file_of(b"abc"), reversed_by))
    with socket.socket(fileno=os.dup(workers._idle[0].connection.fileno())):
        closing = threading.Thread(target=workers.close, daemon=True)
        closing.start()
        closing.join(PATIENCE)
        assert not closing.is_alive()


def test_a_process_that_cannot_start_is_an_error(workers, monkeypatch):
    def refuse(*args, **more):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(StatusError, match="A process to read the body cannot be started: resource temp"):
        in_loop(workers.read(file_of(b"x"), reversed_by))


def test_without_processes_everything_is_read_here():
    workers = WorkerPool(processes=0)
    assert workers.large > 2**60
    workers.close()
