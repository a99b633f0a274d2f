"""Convert one model to every format, with tfport: a worker of `run.py`. Prints a line of JSON for each."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tfport.cli.main import main

MOST_SECONDS = 300
KERAS = "keras==3.15.1"
TARGETS = {
    "ONNX": ["export", "{model}", "-o", "{out}/model.onnx"],
    "`.tflite`": ["export", "{model}", "-o", "{out}/model.tflite"],
    "TensorFlow.js": ["export", "{model}", "--format", "tfjs", "-o", "{out}/tfjs"],
    "Triton": ["export", "{model}", "--format", "triton", "-o", "{out}/triton"],
    "SavedModel": ["export", "{model}", "-o", "{out}/saved"],
    "GraphDef": ["export", "{model}", "-o", "{out}/model.pb"],
    "Keras 3": ["fix", "{model}", "--for", KERAS, "-o", "{out}/model.keras"],
    "weights": ["export", "{model}", "-o", "{out}/weights.npz"],
}


class TooSlow(Exception):
    pass


AS_GRAPH = "--as-graph"


def converted(model: str, target: str) -> dict[str, Any]:
    """Whether a target was written, and why not; with `--as-graph` if tfport advises that."""
    record = attempt(model, TARGETS[target])
    if record["outcome"] != "written" and f"`{AS_GRAPH}` writes" in record["why"]:
        record = {**attempt(model, [*TARGETS[target], AS_GRAPH]), "as_graph": True}
    return record


def attempt(model: str, parts: list[str]) -> dict[str, Any]:
    out, err, start = io.StringIO(), io.StringIO(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        command = [part.format(model=model, out=folder) for part in parts]
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main(command)
            outcome = "written" if code == 0 else "refused"
        except TooSlow:
            outcome = "too slow"
        except BaseException as error:
            outcome = f"crashed: {error!r}"[:200]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    lines = [line for line in (err.getvalue() or out.getvalue()).splitlines() if line.strip()]
    why = "" if outcome == "written" else " ".join(lines)[:400]
    return {"outcome": outcome, "why": why, "cpu_seconds": round(time.process_time() - start, 2)}


def too_slow(*_: object) -> None:
    raise TooSlow


if __name__ == "__main__":
    signal.signal(signal.SIGPROF, too_slow)
    for name in TARGETS:
        record = converted(sys.argv[1], name)
        print(json.dumps({name: record}).replace(str(Path.home()), "~"), flush=True)
