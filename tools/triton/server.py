"""The real `tritonserver` of the package nvidia-pytriton over one repository; models are loaded on request.

The package has the server and its Python backend, with a stub for each Python, but no ONNX Runtime backend.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import tritonclient.grpc
import tritonclient.http

MOST_SECONDS = 300


class TritonServer:
    """A running server; `log` is what it has printed."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._log = folder / "log"
        http, grpc = _free_port(), _free_port()
        command = [
            str(_distribution() / "bin/tritonserver"),
            f"--model-repository={self._repository}",
            f"--backend-directory={_backends(folder)}",
            "--model-control-mode=explicit",
            f"--http-port={http}",
            f"--grpc-port={grpc}",
            "--allow-metrics=false",
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=_environment())
        self._stack.callback(self._stop)
        self.http = tritonclient.http.InferenceServerClient(
            f"127.0.0.1:{http}", connection_timeout=MOST_SECONDS, network_timeout=MOST_SECONDS
        )
        self.grpc = tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{grpc}")
        self._wait()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def load(self, name: str) -> str:
        """Load a model: "" or what the server says against it."""
        try:
            self.http.load_model(name)
        except tritonclient.http.InferenceServerException as error:
            return str(error.message())
        return "" if self.http.is_model_ready(name) else "is not ready"

    def unload(self, name: str) -> None:
        self.http.unload_model(name)

    def _wait(self) -> None:
        start = time.monotonic()
        while time.monotonic() - start < MOST_SECONDS:
            if self._process.poll() is not None:
                break
            try:
                if self.http.is_server_ready():
                    return
            except OSError:
                time.sleep(0.1)
        raise SystemExit(f"tritonserver does not start:\n{self.log}")

    def _stop(self) -> None:
        self.http.close()
        self.grpc.close()
        self._process.terminate()
        try:
            self._process.wait(MOST_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()


def server_version(server: TritonServer) -> str:
    metadata: dict[str, Any] = server.http.get_server_metadata()
    return str(metadata["version"])


def _distribution() -> Path:
    spec = find_spec("pytriton")
    if spec is None or spec.origin is None:
        raise SystemExit("install nvidia-pytriton, tritonclient[all] and tfport in one environment")
    return Path(spec.origin).parent / "tritonserver"


def _backends(folder: Path) -> Path:
    """The folder of backends, with the stub of this Python beside the Python backend."""
    backends = folder / "backends"
    shutil.copytree(_distribution() / "backends", backends)
    release = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = _distribution() / "python_backend_stubs" / release / "triton_python_backend_stub"
    shutil.copy(stub, backends / "python" / stub.name)
    return backends


def use_this_environment(config: Path) -> None:
    """Name this environment in a configuration as that of the Python backend, as the comment in it shows."""
    path = json.dumps(sys.prefix)
    with config.open("a") as file:
        file.write(f'parameters: {{ key: "EXECUTION_ENV_PATH", value: {{ string_value: {path} }} }}\n')


def _environment() -> dict[str, str]:
    libraries = [sysconfig.get_config_var("LIBDIR"), str(_distribution().parents[1] / "nvidia_pytriton.libs")]
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(libraries)}


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
