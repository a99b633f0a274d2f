"""Start the servers to measure as processes, wait for their first answer, and stop them."""

import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from serve_models import BenchModel

HERE = Path(__file__).resolve().parent
TFPORT, BATCHED, BARE, TENSORFLOW = "tfport", "batched", "bare", "TensorFlow"
SCRIPTS = {BARE: "serve_bare.py", TENSORFLOW: "serve_tensorflow.py"}
PATIENCE = 120.0


@dataclass
class Running:
    """A running server that has answered."""

    contender: str
    model: str
    process: subprocess.Popen[bytes]
    ports: dict[str, int]
    first: float
    """Seconds from process start to first answer."""
    answer: bytes

    def processor_seconds(self) -> float:
        """Return the processor time that it has used, of all its threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> int:
        """Return its resident memory in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024


@contextmanager
def running(contender: str, model: BenchModel, flags: Sequence[str] = ()) -> Iterator[Running]:
    """Start a server; `flags` are more flags of `tfport serve`."""
    ports = {"grpc": _free(), "rest": _free()}
    with tempfile.TemporaryFile() as messages:
        began = time.perf_counter()
        process = subprocess.Popen([*_command(contender, model, ports), *flags], stderr=messages)
        try:
            answer = _first_answer(process, ports["rest"], model)
            if answer is None:
                messages.seek(0)
                last = messages.read().decode(errors="replace").strip().splitlines()[-1:]
                raise SystemExit(f"{contender}, {model.name}: no answer: {''.join(last)}")
            yield Running(contender, model.name, process, ports, time.perf_counter() - began, answer)
        finally:
            process.terminate()
            process.wait(30)


def _command(contender: str, model: BenchModel, ports: dict[str, int]) -> list[str | Path]:
    if contender in SCRIPTS:
        script = HERE / SCRIPTS[contender]
        return [sys.executable, script, model.path, model.name, str(ports["grpc"]), str(ports["rest"])]
    named = [model.path, "--model_name", model.name]
    what = ["--model_config_file", model.path] if model.path.is_file() else named
    command = [Path(sys.executable).with_name("tfport"), "serve", *what,
               "--port", str(ports["grpc"]), "--rest_api_port", str(ports["rest"])]  # fmt: skip
    return [*command, "--enable_batching"] if contender == BATCHED else command


def _first_answer(process: subprocess.Popen[bytes], port: int, model: BenchModel) -> bytes | None:
    """Return the first answer; None if there is none in time, or the process has ended."""
    body, end = model.rest.read_bytes(), time.perf_counter() + PATIENCE
    while time.perf_counter() < end and process.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        try:
            connection.request("POST", f"/v1/models/{model.name}:predict", body)
            response = connection.getresponse()
            answer = response.read()
            if response.status == 200:
                return answer
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.005)
    return None


def _free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
