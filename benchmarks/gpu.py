"""`make bench-gpu`: tfport on a GPU, beside others that run the same model or the same architecture.

    python benchmarks/gpu.py MODELS… [-o FILE.json] [--contenders tfport torch …] [--seconds N]

MODELS are SavedModels of `runtime_models.py`, real or filled (`outlined_models.py`). For each batch size: the
median time from arrays on the host to arrays on the host, and with inputs and outputs in device memory.

Each contender runs in a process of its own (`gpu_CONTENDER.py`), as two that use one GPU disturb each other.
The file is written after each result; what a contender did not finish in its time is left out. TensorFlow is
measured if TFLIBS says where its libraries are.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpu_timing import CHOSEN_PRECISIONS, PRECISIONS

CONTENDERS = ("tfport", "tensorflow", "torch", "onnxruntime", "jax")
HERE = Path(__file__).parent
SECONDS = 600
Results = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""By model, contender and precision."""


class Benchmark:
    """Collects what the contenders report, and writes it at once."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.results: Results = json.loads(file.read_text()) if file is not None and file.exists() else {}

    def run(self, contender: str, models: Sequence[Path], seconds: float) -> None:
        """Measure models by a contender; if its process dies, the models after that at which it did."""
        left = list(models)
        while left:
            done = self._run(contender, left, seconds)
            if done is None:
                return
            names = [path.name for path in left]
            left = left[names.index(done) + 1 :] if done in names else left[1:]

    def _run(self, contender: str, models: Sequence[Path], seconds: float) -> str | None:
        """The model at which the process died; None if it did not, or ran out of time."""
        command = [sys.executable, str(HERE / f"gpu_{contender}.py"), *map(str, models)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_environment(contender))
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        reported = models[0].name
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                print(line, end="", flush=True)
                reported = self._add(json.loads(line))
        timer.cancel()
        return None if process.wait() in (0, -signal.SIGKILL) else reported

    def _add(self, line: dict[str, Any]) -> str:
        model = str(line["model"])
        if "times" in line:
            contenders = self.results.setdefault(model, {})
            precisions = contenders.setdefault(line["contender"], {})
            precisions.setdefault(line["precision"], {}).update(line["times"])
            if self._file is not None:
                self._file.write_text(json.dumps(self.results, indent=1) + "\n")
        return model


def _environment(contender: str) -> dict[str, str]:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    if contender == "tensorflow":
        environment["LD_LIBRARY_PATH"] = f"{environment['TFLIBS']}:{environment.get('LD_LIBRARY_PATH', '')}"
    return environment


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure tfport on a GPU, beside others.")
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("-o", type=Path, help="write the results as JSON, or add to those of this file")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS)
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS, default=PRECISIONS, help="of tfport")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time for each contender")
    args = parser.parse_args()
    benchmark = Benchmark(args.o)
    os.environ[CHOSEN_PRECISIONS] = " ".join(args.precisions)
    for contender in args.contenders:
        if contender != "tensorflow" or "TFLIBS" in os.environ:
            benchmark.run(contender, args.models, args.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
