"""Find the Python interpreters of this machine: on PATH, of pyenv, of uv and of the py launcher."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

SECONDS = 30
KNOWN = tuple(f"3.{minor}" for minor in range(6, 16))
"""The versions to look for if a release does not say which it supports."""
PLACES = "PATH, pyenv, uv and the py launcher"


@cache
def find_python(version: str) -> str | None:
    """The path of an interpreter of a version such as `3.7`."""
    if version == "{}.{}".format(*sys.version_info):
        return sys.executable
    candidates = (path for finder in FINDERS for path in finder(version))
    return next((path for path in candidates if _version(path) == version), None)


def _on_path(version: str) -> Iterator[str]:
    if path := shutil.which(f"python{version}"):
        yield path


def _of_pyenv(version: str) -> Iterator[str]:
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(root.glob(f"versions/{version}.*/bin/python"), reverse=True))


def _of_uv(version: str) -> Iterator[str]:
    if uv := shutil.which("uv"):
        yield from _printed([uv, "python", "find", "--no-python-downloads", version])


def _of_launcher(version: str) -> Iterator[str]:
    if launcher := shutil.which("py"):
        yield from _printed([launcher, f"-{version}", "-c", "import sys; print(sys.executable)"])


FINDERS: tuple[Callable[[str], Iterator[str]], ...] = (_on_path, _of_pyenv, _of_uv, _of_launcher)


def _version(path: str) -> str:
    """The version that an interpreter reports: a shim of pyenv may be on PATH without one."""
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    return next(iter(_printed([path, "-c", program])), "")


def _printed(command: list[str]) -> list[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.strip().splitlines() if done.returncode == 0 else []
