"""Ask real TensorFlow Lite interpreters about .tflite files: do they load and run, and what do they answer.

    python tools/truth/lite/ask.py ENVIRONMENT MODEL… [--way plain] [--inputs FILE.npz] [--outputs FILE.npz]

ENVIRONMENT is a Python environment with ai-edge-litert, tflite-runtime or tensorflow. Ways: `default` (the
default delegates: XNNPACK), `plain` (no delegate), `reference` (the reference kernels). Models are asked in a
child process, so that a crash is an outcome too. Prints one line of JSON per model and way.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

PROBE = Path(__file__).resolve().with_name("probe.py")
WAYS = ("default", "plain", "reference")
LIMIT = 300
"""Seconds that a model may take."""


def outcomes(environment: Path, tasks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the outcome of each task; a new process continues after a crash."""
    python = str(environment / "bin" / "python")
    rest = list(tasks)
    while rest:
        with tempfile.TemporaryDirectory() as folder:
            listing = Path(folder, "tasks.json")
            listing.write_text(json.dumps(rest))
            with Path(folder, "stderr").open("w+") as messages:
                done, is_crash = yield from _answers([python, str(PROBE), str(listing)], messages)
                messages.seek(0)
                if is_crash:
                    yield _crash(rest[done], messages.read())
                    done += 1
                elif done < len(rest):
                    raise RuntimeError(f"{environment} does not start: {messages.read()[-300:]}")
            rest = rest[done:]


def _answers(command: list[str], messages: Any) -> Generator[dict[str, Any], None, tuple[int, bool]]:
    """Yield the outcomes that a process prints; return how many, and whether it ended in a task."""
    environ = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=messages, text=True, env=environ)
    assert process.stdout is not None
    done = started = 0

    def late(*_: Any) -> None:
        process.kill()

    signal.signal(signal.SIGALRM, late)
    for line in process.stdout:
        signal.alarm(LIMIT)
        started += line == "start\n"
        if line.startswith("{"):
            done += 1
            yield json.loads(line)
    signal.alarm(0)
    process.wait()
    return done, started > done


def _crash(task: dict[str, Any], messages: str) -> dict[str, Any]:
    lines = [line for line in messages.splitlines() if line.strip()]
    return {
        "model": task["model"],
        "way": task["way"],
        "step": "crash",
        "ok": False,
        "error": "crash",
        "text": "\n".join(lines[-5:]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("environment", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--way", choices=[*WAYS, "all"], default="default")
    parser.add_argument("--inputs", help=".npz with the inputs 0, 1, …; written if it does not exist")
    parser.add_argument("--outputs", help=".npz to write")
    parser.add_argument("--steps", default="load,allocate,invoke")
    options = parser.parse_args()
    tasks = [
        {
            "model": model,
            "way": way,
            "inputs": options.inputs,
            "outputs": options.outputs,
            "steps": options.steps.split(","),
        }
        for model in options.models
        for way in (WAYS if options.way == "all" else [options.way])
    ]
    for outcome in outcomes(options.environment, tasks):
        print(json.dumps(outcome))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
