"""Run a program to its end: with a time limit, its output in a file, and nothing left when interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

LOG = "log.txt"
LONGEST = 64 * 1024
_NOT_FOR_OTHERS = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV")


def run_to_end(command: Sequence[str], folder: Path, seconds: float, *, own: bool = False) -> str:
    """Run a program in a folder; returns how it failed, or an empty string.

    `own` is whether it is the Python that tfport runs in, which needs its own environment variables.
    """
    process: subprocess.Popen[bytes] | None = None
    with open(folder / LOG, "wb") as log:
        try:
            with _uninterrupted():
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environment(own),
                    cwd=folder, start_new_session=True,
                )  # fmt: skip
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"timeout after {seconds:.0f} seconds"
        finally:  # also when the user interrupts
            if process is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if code == 0:
        return ""
    ended = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    lines = log_lines(folder)
    return f"{ended}: {lines[-1]}" if lines else ended


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let an interrupt wait: one while a process is made would leave it behind, unknown."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def log_lines(folder: Path) -> list[str]:
    """The last lines that the program printed."""
    path = folder / LOG
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - LONGEST))
        text = file.read().decode(errors="replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _environment(own: bool) -> Mapping[str, str]:
    dropped = () if own else _NOT_FOR_OTHERS
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}
