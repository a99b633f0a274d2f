"""Create a virtual environment with a given release of TensorFlow.

    with environment("tensorflow", "1.15.5") as python: ...       a path: bin/python

The environment uses the newest installed interpreter that the release has a wheel for, and
dependencies of the same age: those that pip chooses today for a release of 2019 do not import.
It is in ~/.cache/tfport/environments while it is in use, or longer with `keep`.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "atlas"))

from package_index import pythons
from records import release_order

CACHE = Path("~/.cache/tfport/environments").expanduser()
INTERPRETERS = Path("~/.pyenv/versions").expanduser()

OLD_PIP = "pip>=21,<22; python_version < '3.7'"
"""The pip of Python 3.6 supports too few wheel tags, and newer ones do not support Python 3.6."""
OLD = ["protobuf<3.21", "wrapt<1.15", "setuptools<60"]
DEPENDENCIES = [  # before this release: limits on what pip would otherwise choose too new
    ((2, 1), [*OLD, "numpy<1.17", "gast==0.2.2", "h5py<2.11"]),
    ((2, 5), [*OLD, "numpy<1.20", "gast<0.4", "h5py<2.11"]),
    ((2, 12), [*OLD, "numpy<1.24", "gast<0.5", "h5py<3.9", "flatbuffers<23"]),
    ((2, 16), ["wrapt<1.15", "setuptools<70"]),
    ((2, 18), ["numpy<2", "setuptools<70"]),
]
"""A row applies to releases older than its own that no earlier row covers."""


@contextmanager
def environment(package: str, release: str, keep: bool = False) -> Iterator[Path]:
    """Yield the Python of an environment that has the release."""
    folder = CACHE / f"{package}-{release}"
    python = folder / "bin" / "python"
    try:
        if not (folder / "ready").exists():
            make(folder, package, release)
        yield python
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def make(folder: Path, package: str, release: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    quietly(interpreter(pythons(package, release, "x86_64")), "-m", "venv", folder)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-cache-dir", "--no-compile"]
    quietly(*pip, OLD_PIP)
    quietly(*pip, "--prefer-binary", f"{package}=={release}", *dependencies(release))
    (folder / "ready").touch()


def quietly(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stderr}")


def interpreter(versions: list[str]) -> Path:
    """Return the newest of these Python versions that this machine has."""
    for version in reversed(versions):
        here = next(INTERPRETERS.glob(f"{version}.*/bin/python"), None)
        if path := here or shutil.which(f"python{version}"):
            return Path(path)
    raise SystemExit(f"no interpreter found for Python {', '.join(versions)}")


def dependencies(release: str) -> list[str]:
    order = release_order(release)
    return next((wanted for before, wanted in DEPENDENCIES if order < before), [])


def installed(python: Path, package: str) -> str | None:
    """Return the version of a package in the environment of this Python, or None."""
    done = subprocess.run([python, "-m", "pip", "show", package], capture_output=True, text=True)
    version = re.search(r"^Version: (.+)$", done.stdout, re.MULTILINE)
    return version[1] if version else None
