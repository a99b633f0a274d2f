"""`tfport ui` as a process: it starts, serves several pages at once, and ends without leaving anything."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.recorded_models import path_of
from tests.web.ui_client import UiClient

MODEL = path_of("keras_lstm")


class UiProcess:
    """The command, with a temporary folder and a cache of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        own = {"TMPDIR": str(self.temporary), "XDG_CACHE_HOME": str(folder / "cache")}
        command = [sys.executable, "-m", "tfport", "ui", "--no-browser", *arguments]
        self._process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env=os.environ | own, cwd=folder
        )
        line = self._process.stderr.readline()
        assert self._process.stderr.readline() == "Press Ctrl-C to stop.\n"
        port, self.token = re.search(r":(\d+)/#token=([\w-]+)", line).groups()
        self.client = UiClient(int(port))

    def ask(self, method, path, body=None):
        return self.client.request(method, f"/api/v1{path}", body, token=self.token)

    def open(self, path):
        return self.ask("POST", "/models", {"path": path}).json["id"]

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Send a signal; the exit code, and what was printed since the start."""
        self._process.send_signal(number)
        _, printed = self._process.communicate(timeout=60)
        return self._process.returncode, printed


@pytest.fixture
def process(tmp_path):
    started = UiProcess(tmp_path, MODEL)
    yield started
    started._process.kill()
    started._process.communicate()


STOPPED = "tfport ui: stopped\n"


def processes_in(folder: Path) -> list[str]:
    """Processes whose current folder is below one."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        try:
            place = os.readlink(entry)
        except OSError:
            continue
        if Path(place.removesuffix(" (deleted)")).is_relative_to(folder):
            found.append(entry.parent.name)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_end_during_a_job_leaves_nothing(process, number):
    model = process.open(MODEL)
    assert process.ask("POST", f"/models/{model}/profile", {"batch": 4096}).status == 202
    until = time.monotonic() + 60
    while not processes_in(process.temporary) and time.monotonic() < until:
        time.sleep(0.01)
    assert len(processes_in(process.temporary)) >= 1
    assert process.end(number) == (0, STOPPED)
    assert list(process.temporary.iterdir()) == []
    assert processes_in(process.temporary) == []


def test_the_end_before_anything_was_asked(process):
    assert process.end(signal.SIGINT) == (0, STOPPED)
    assert list(process.temporary.iterdir()) == []


def test_two_tabs_get_the_same_answers(process):
    model = process.open(MODEL)
    paths = [f"/models/{model}/{view}" for view in ("inspect", "graphs", "graphs/main", "search?q=op:Const")]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda path: process.ask("GET", path), paths * 4))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == len(paths)


def test_a_tab_that_left_does_not_disturb_the_others(process):
    model = process.open(MODEL)
    with socket.create_connection(("127.0.0.1", process.client.port)) as left:
        request = f"GET /api/v1/models/{model}/matrix HTTP/1.1\r\nHost: 127.0.0.1:{process.client.port}\r\n"
        left.sendall(f"{request}Authorization: Bearer {process.token}\r\n\r\n".encode())
    assert process.ask("GET", f"/models/{model}/graphs/main").status == 200
    assert process.end(signal.SIGINT) == (0, STOPPED)
