"""Helpers: `tfport serve` in its own process, and clients for it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from tests.serve.models.exports import saved_model

from tfport.formats.proto import graph_pb2, serving_api_pb2, serving_pb2

COMMAND = [sys.executable, "-c", "from tfport.cli.main import main; raise SystemExit(main())", "serve"]
GONE = (ConnectionError, ssl.SSLError)
"""Errors of a client that the server rejects."""
FREE = ("--port=-1", "--rest_api_port=-1")
PATIENCE = 60
PREDICT = "/tensorflow.serving.PredictionService/Predict"
# a matrix product with one row per input number: a few thousand numbers take a second
SLOW = """
    x = Placeholder() {dtype=float32, shape=(?)}
    zero = Const() {dtype=int32, value=int32()[0]}
    one = Const() {dtype=int32, value=int32()[1]}
    column = ExpandDims(x, one) {T=float32, Tdim=int32}
    row = ExpandDims(x, zero) {T=float32, Tdim=int32}
    a = MatMul(column, row) {T=float32}
    b = MatMul(a, a) {T=float32}
    c = MatMul(b, a) {T=float32}
    y = Sum(c, one) {T=float32, Tidx=int32}
"""


def slow() -> bytes:
    return saved_model(SLOW, {"serving_default": "y:0"})


class Command:
    """A server process: its ports, its output and its exit code."""

    def __init__(
        self,
        *args: object,
        files: int | None = None,
        start: Sequence[object] = COMMAND,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`files` is the limit of open files."""
        limit = ["sh", "-c", f'ulimit -n {files} && exec "$@"', "sh"] if files else []
        self.process = subprocess.Popen(
            [*limit, *map(str, start), *map(str, args)],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        self.lines: list[str] = []
        self.listening = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.host, self.grpc, self.rest, self.health = "127.0.0.1", 0, 0, 0

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            if line.startswith("tfport serves "):
                self.listening.set()
        self.listening.set()

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def ready(self) -> Command:
        """Wait until the ports are open."""
        assert self.listening.wait(PATIENCE)
        first = next((line for line in self.lines if line.startswith("tfport serves ")), None)
        assert first is not None, self.output
        if match := re.search(r"gRPC at ([\d.]+):(\d+)", first):
            self.host, self.grpc = match[1], int(match[2])
        if match := re.search(r"REST at https?://([\d.]+):(\d+)", first):
            self.host, self.rest = match[1], int(match[2])
        if match := re.search(r"health at http://[\d.]+:(\d+)", first):
            self.health = int(match[1])
        return self

    def ask(
        self, method: str, path: str, body: Any = None, *, tls: ssl.SSLContext | None = None, **headers: str
    ) -> tuple[int, Any]:
        """Return the status and the body of a REST request."""
        client = (
            http.client.HTTPSConnection(self.host, self.rest, timeout=PATIENCE, context=tls)
            if tls
            else http.client.HTTPConnection(self.host, self.rest, timeout=PATIENCE)
        )
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            client.request(method, path, sent, headers)
            answer = client.getresponse()
            text = answer.read()
            kind = answer.headers.get("Content-Type", "")
            return answer.status, json.loads(text) if "json" in kind else text.decode()
        finally:
            client.close()

    def predict(self, *values: float, name: str = "m", which: str = "") -> tuple[int, Any]:
        return self.ask("POST", f"/v1/models/{name}{which}:predict", {"instances": list(values)})

    def answers(self, name: str = "m") -> float | None:
        """Return a model's answer to 0, which is its version; None if it does not answer."""
        status, body = self.predict(0, name=name)
        return body["predictions"][0] if status == 200 else None

    def statuses(self, name: str = "m") -> dict[int, tuple[str, str]]:
        statuses = self.ask("GET", f"/v1/models/{name}")[1]["model_version_status"]
        return {
            int(status["version"]): (status["state"], status["status"]["error_message"])
            for status in statuses
        }

    def channel(self) -> grpc.Channel:
        return grpc.insecure_channel(f"{self.host}:{self.grpc}")

    def end(self, by: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(by)
        return self.ended()

    def ended(self) -> int:
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.ended()


@contextmanager
def command(*args: object, ports: tuple[str, ...] = FREE, files: int | None = None) -> Iterator[Command]:
    """Run a server that listens, and end it afterwards."""
    running = Command(*args, *ports, files=files)
    try:
        yield running.ready()
    finally:
        running.close()
    assert "Traceback" not in running.output


def refused(*args: object) -> tuple[int, str]:
    """Return the exit code and the output of a server that fails to start."""
    done = subprocess.run([*COMMAND, *map(str, args)], capture_output=True, text=True, timeout=PATIENCE)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr.strip()


def predict_request(*values: float, name: str = "m") -> serving_pb2.PredictRequest:
    request = serving_pb2.PredictRequest()
    request.model_spec.name = name
    request.inputs["x"].dtype = graph_pb2.DT_FLOAT
    request.inputs["x"].tensor_shape.dim.add(size=len(values))
    request.inputs["x"].float_val.extend(values)
    return request


def predict_over(channel: grpc.Channel, *values: float, name: str = "m", **more: Any) -> list[float]:
    call = channel.unary_unary(
        PREDICT,
        serving_pb2.PredictRequest.SerializeToString,
        serving_api_pb2.PredictResponse.FromString,
    )
    answer = call(predict_request(*values, name=name), timeout=PATIENCE, **more)
    return list(answer.outputs["y"].float_val)


def until(condition: Callable[[], Any]) -> Any:
    """Wait for a condition and return its value."""
    end = time.monotonic() + PATIENCE
    while not (result := condition()):
        assert time.monotonic() < end, "the condition never became true"
        time.sleep(0.01)
    return result


def text_file(path: Path, text: str) -> Path:
    """Write a file atomically."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(text)
    return part.rename(path)
