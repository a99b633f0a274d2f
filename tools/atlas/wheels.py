"""Which wheel is a release, and what is in it?

`unpacked` brings the x86-64 Linux wheel of a release from the package index that
pip is set up for, takes out only the libraries that register ops, and leaves
nothing behind. Loading them is left to `native`.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Any one will do: no Python code of the wheel runs.
PYTHONS = ("311", "310", "39", "38", "37", "36")
PLATFORMS = [
    f"manylinux{generation}_x86_64"
    for generation in ("1", "2010", "2014", "_2_5", "_2_12", "_2_17", "_2_24", "_2_27", "_2_28")
]
# 1.15 and 2.0 call their package tensorflow_core.
PACKAGE = r"\btensorflow(_core)?/"
RUNTIME = re.compile(PACKAGE + r"(.*/)?(lib[^/]*|_pywrap_tensorflow_internal)\.so")
ADDS_OPS = re.compile(PACKAGE + r"(contrib/.*\.so|(compiler|core|lite)/.*_ops?\.so)$")
ADDS_NONE = re.compile(r"/(lib[^/]*protos|_wrap_[^/]*|_?pywrap_[^/]*)\.so$")


@dataclass(frozen=True)
class Wheel:
    """A wheel, and the folder with the libraries of its package."""

    name: str
    sha256: str
    package: Path


@contextmanager
def unpacked(distribution: str, release: str) -> Iterator[Wheel]:
    """The wheel of a release, for as long as it is used."""
    with tempfile.TemporaryDirectory() as folder:
        file = fetch(distribution, release, Path(folder))
        with open(file, "rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        package = unpack(file, Path(folder, "wheel"))
        file.unlink()
        yield Wheel(file.name, digest, package)


def fetch(distribution: str, release: str, folder: Path) -> Path:
    """Download the wheel of a release into `folder`."""
    for python in PYTHONS:
        command = download(f"{distribution}=={release}", python, folder)
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return next(folder.glob("*.whl"))
        if "No matching distribution" not in done.stderr:
            sys.exit(done.stderr)
    sys.exit(f"{distribution}=={release}: no x86-64 Linux wheel for any of Python {', '.join(PYTHONS)}")


def download(requirement: str, python: str, folder: Path) -> list[str]:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-cache-dir", "--no-deps"]
    wanted = ["--only-binary=:all:", "--python-version", python, "--implementation", "cp"]
    wanted += [option for abi in (f"cp{python}", f"cp{python}m") for option in ("--abi", abi)]
    wanted += [option for platform in PLATFORMS for option in ("--platform", platform)]
    return [*pip, *wanted, "--dest", str(folder), requirement]


def unpack(wheel: Path, folder: Path) -> Path:
    """Take the libraries out of a wheel; the folder of its package."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(folder, [n for n in names if RUNTIME.search(n) or ADDS_OPS.search(n)])
    return next(folder.rglob("libtensorflow_framework*")).parent


def op_libraries(package: Path) -> list[str]:
    """The libraries that add ops when something imports them, by their path in the package."""
    paths = [p for p in package.rglob("*.so") if ADDS_OPS.search(str(p)) and not ADDS_NONE.search(str(p))]
    return sorted(str(path.relative_to(package)) for path in paths)
