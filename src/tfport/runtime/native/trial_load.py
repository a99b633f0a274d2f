"""Try to load a library in a separate process, before loading it into this one.

The functions that run when a library is loaded may throw, abort, exit or hang, and the file does
not show that. Each file is tried once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tfport.errors import BadLibrary

TIMEOUT_SECONDS = 60.0
SURVIVED = b"survived"
TRY = """
import ctypes, os, sys
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
try:
    ctypes.CDLL(sys.argv[2], os.RTLD_NOW)
except OSError as error:
    print(error, file=sys.stderr)
    os._exit(3)
os.write(1, b"survived")
os._exit(0)
"""
_SURVIVORS: set[tuple[int, ...]] = set()


def try_to_load(path: str | Path, tvm_ffi: Path) -> None:
    """Raise BadLibrary if loading a library fails, or ends the process."""
    stat = os.stat(path)
    key = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if key in _SURVIVORS or not sys.executable:
        return
    command = [sys.executable, "-I", "-S", "-c", TRY, str(tvm_ffi), os.path.abspath(path)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        raise BadLibrary(f"{path}: loading it did not finish within {TIMEOUT_SECONDS:.0f} seconds") from None
    if done.returncode != 0 or done.stdout != SURVIVED:
        raise BadLibrary(f"{path}: {_why(done.returncode, done.stderr.decode(errors='replace'))}")
    _SURVIVORS.add(key)


def _why(code: int, stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = f": {lines[-1].removeprefix('what():').strip()}" if lines else ""
    if code == 3 and lines:
        return f"the system's loader rejects it{last}"
    if code < 0:
        return f"loading it ends the process ({signal.Signals(-code).name}){last}"
    return f"loading it ends the process (exit code {code}){last}"
