"""The recorded cases of ops with every island on a GPU: which pass, and which do not.

    python tools/gpu_ops.py -o FILE.json [--device cuda] [--processes 8] [--seconds 240] [FILES…]

Each test file runs in a process of its own, and what ends a process or leaves its GPU unusable spoils at most
the rest of that file: tests that were not reached run in a new process, and tests that failed run again, each
alone. The result is written after each process. Tests for which the time did not suffice count as not run.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

from gpu_ops_report import FILE

ROOT = Path(__file__).resolve().parents[1]
OPS = "tests/runtime/ops"
PYTEST = [
    "-m", "pytest", "-q", "--tb=short", "-o", "addopts=--import-mode=importlib", "-p", "no:cacheprovider",
    "-p", "no:benchmark", "-p", "no:xdist", "-p", "gpu_ops_report",
    "-W", "ignore::tfport.runtime.engines.gpu.gpu_engine.GpuFailed",
]  # fmt: skip
MAX_ALONE = 300
"""Failures that are repeated alone."""
MAX_STARTS = 20
"""Processes for the tests of one file."""


class OpsRun:
    """Runs tests in processes, and collects their outcomes."""

    def __init__(self, file: Path, device: str, seconds: float) -> None:
        self._file, self._device = file, device
        self._end = time.monotonic() + seconds
        self._lock = Lock()
        self._outcomes: dict[str, dict[str, str]] = {}
        self._collected: set[str] = set()
        self._again: dict[str, str] = {}

    def file(self, path: str) -> None:
        """All tests of a file."""
        left: list[str] = [path]
        for _ in range(MAX_STARTS):
            collected, reached = self._process(left)
            if not collected:
                return
            left = [test for test in collected if test not in reached]
            if not left or self._is_late():
                return
            self._add({left[0]: {"outcome": "crashed", "message": "its process ended"}})
            left = left[1:]
            if not left:
                return

    def alone(self, test: str) -> None:
        """A test that failed, in a process in which no other has run."""
        before = self._outcomes[test]["outcome"]
        if not self._is_late():
            self._process([test])
            if self._outcomes[test]["outcome"] == "passed":
                self._again[test] = before
                self._write()

    @property
    def failed(self) -> list[str]:
        return [t for t, r in self._outcomes.items() if r["outcome"] in ("failed", "crashed")]

    def _is_late(self) -> bool:
        return time.monotonic() > self._end

    def _process(self, tests: Sequence[str]) -> tuple[list[str], set[str]]:
        """The tests that were collected, and those that were reached."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            return [], set()
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report")
            report.touch()
            tools = str(Path(__file__).parent)
            environment = {
                **os.environ, FILE: str(report), "TFPORT_TEST_DEVICE": self._device,
                "PYTHONPATH": f"{tools}:{os.environ.get('PYTHONPATH', '')}",
            }  # fmt: skip
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    [sys.executable, *PYTEST, *tests], cwd=ROOT, env=environment, timeout=seconds,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip
            lines = [json.loads(line) for line in report.read_text().splitlines()]
        collected = [test for line in lines for test in line.get("collected", ())]
        reached = {line["test"]: line for line in lines if "test" in line}
        with self._lock:
            self._collected.update(collected)
        self._add({test: {"outcome": r["outcome"], "message": r["message"]} for test, r in reached.items()})
        return collected, set(reached)

    def _add(self, outcomes: dict[str, dict[str, str]]) -> None:
        with self._lock:
            self._outcomes.update(outcomes)
        self._write()

    def _write(self) -> None:
        with self._lock:
            content = self.to_json()
            temporary = self._file.with_suffix(".tmp")
            temporary.write_text(json.dumps(content, indent=1) + "\n")
            temporary.replace(self._file)

    def to_json(self) -> dict[str, Any]:
        counts: dict[str, int] = {}
        for result in self._outcomes.values():
            counts[result["outcome"]] = counts.get(result["outcome"], 0) + 1
        failures = {test: self._outcomes[test]["message"] for test in self.failed}
        return {
            **counts,
            "not_run": len(left := sorted(self._collected - set(self._outcomes))),
            "left": left,
            "passed_alone": sorted(self._again),
            "failures": failures,
        }


def run(files: Iterable[str], out: Path, device: str, processes: int, seconds: float) -> dict[str, Any]:
    ops = OpsRun(out, device, seconds)
    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(ops.file, files))
        list(pool.map(ops.alone, ops.failed[:MAX_ALONE]))
    return ops.to_json()


def all_files() -> list[str]:
    """The test files of ops, the largest first."""
    files = sorted((ROOT / OPS).rglob("test_*.py"), key=lambda path: -path.stat().st_size)
    return [str(path.relative_to(ROOT)) for path in files]


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the recorded cases of ops on a GPU.")
    parser.add_argument("files", nargs="*", help=f"test files (default: all below {OPS})")
    parser.add_argument("-o", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3600)
    args = parser.parse_args()
    result = run(args.files or all_files(), args.o, args.device, args.processes, args.seconds)
    print({key: len(value) if isinstance(value, dict | list) else value for key, value in result.items()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
