"""The real TensorFlow.js in Node as a process that answers jobs (`run_models.cjs`)."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tfport.formats.tfjs.write import stored_array

SCRIPT = Path(__file__).with_name("run_models.cjs")
PACKAGES = ("tfjs", "tfjs-backend-wasm")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tfport/tfjs"
MOST_SECONDS = 90
ENDED = "the process ended, or was too slow"
TYPES = {"float32": np.float32, "int32": np.int32, "bool": np.bool_, "complex64": np.complex64}


class TfjsFailure(Exception):
    """TensorFlow.js raised an error."""


def installed(version: str) -> Path:
    """The folder with the npm packages of a version, which are installed on first use.

    npm writes to a temporary folder: several processes may install at once, and one may end in the middle.
    """
    folder = CACHE / version
    if not _has_packages(folder):
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE, prefix=".new-") as temporary:
            new = Path(temporary, "packages")
            new.mkdir()
            (new / "package.json").write_text('{"private": true}')
            names = [f"@tensorflow/{package}@{version}" for package in PACKAGES]
            options = ["--no-audit", "--no-fund", "--ignore-scripts"]
            subprocess.run(["npm", "install", *options, *names], cwd=new, check=True)
            _put(new, folder)
    return folder


def _has_packages(folder: Path) -> bool:
    return all((folder / "node_modules/@tensorflow" / name / "package.json").exists() for name in PACKAGES)


def _put(new: Path, folder: Path) -> None:
    """Rename a complete folder, unless another process was first; what an ended install left goes away."""
    try:
        new.rename(folder)
    except OSError:  # there is a folder
        if not _has_packages(folder):
            folder.rename(new.with_name("incomplete"))
            new.rename(folder)


class NodeProcess:
    """A process of Node with one version of TensorFlow.js and one backend, cpu or wasm."""

    def __init__(self, version: str, backend: str = "cpu") -> None:
        self.version, self.backend = version, backend
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, model: Path, feeds: Mapping[str, Any], fetches: Sequence[str], *, layers: bool = False
    ) -> tuple[list[Any], list[str]]:
        """The outputs of a model, and the names of the kernels that ran."""
        job = {
            "model": str(model),
            "layers": layers,
            "feeds": {name: encoded(value) for name, value in feeds.items()},
            "fetches": list(fetches),
        }
        answer = self._ask(json.dumps(job))
        if "error" in answer:
            raise TfjsFailure(answer["error"])
        try:
            return [decoded(output) for output in answer["outputs"]], answer["kernels"]
        except (TypeError, ValueError) as error:  # a kernel that answers with too few or too many elements
            raise TfjsFailure(str(error)) from None

    def _ask(self, line: str) -> dict[str, Any]:
        if self._process is None:
            folder = str(installed(self.version))
            self._process = subprocess.Popen(
                ["node", "--max-old-space-size=8192", str(SCRIPT), folder, self.backend],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line + "\n")
        process.stdin.flush()
        limit = threading.Timer(MOST_SECONDS, process.kill)
        limit.start()
        try:
            while text := process.stdout.readline():
                if text.startswith("{"):  # TensorFlow.js prints advice, too
                    answer: dict[str, Any] = json.loads(text)
                    return answer
        finally:
            limit.cancel()
        self._process = None
        return {"error": ENDED}

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def encoded(value: Any) -> dict[str, Any]:
    """An array as JSON, in a type of TensorFlow.js."""
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        strings = [s if isinstance(s, bytes) else str(s).encode() for s in array.reshape(-1).tolist()]
        data = [base64.b64encode(s).decode() for s in strings]
        return {"dtype": "string", "shape": list(array.shape), "data": data}
    array = stored_array(array, "input")
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def decoded(output: Mapping[str, Any]) -> Any:
    if output["dtype"] == "string":
        strings = np.empty(len(output["data"]), object)
        strings[:] = [base64.b64decode(text) for text in output["data"]]
        return strings.reshape(output["shape"])
    raw = base64.b64decode(output["data"])
    return np.frombuffer(raw, TYPES[output["dtype"]]).reshape(output["shape"])
