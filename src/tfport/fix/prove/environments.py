"""A virtual environment with a release from the package index, in the cache folder of the user.

The release is installed by pip, in the newest Python of this machine that it has a wheel for, with
dependencies of its own age: those that pip chooses today for a release of 2019 do not import. The
environment is kept for the next proof.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from tfport.atlas.versions import version_key
from tfport.errors import Error
from tfport.fix.certify.other_runner import log_lines, run_to_end
from tfport.fix.certify.provenance import Wheel
from tfport.formats.digests import digest
from tfport.operating_system import python_of
from tfport.startup.dataclass import dataclass

SECONDS = 1800
"""The longest that a step of the installation may take."""
READY = "tfport.json"
"""Written last; an environment without it is not complete."""
QUIET = ("--disable-pip-version-check", "--no-input", "--retries", "1")
NO_WHEEL = "No matching distribution found"
OFFLINE = ("Retrying (", "ConnectionError", "Network is unreachable", "Temporary failure in name resolution")
"""What pip prints if it cannot reach the package index."""
Progress = Callable[[str], None]


class CannotProve(Error):
    """The target cannot be run on this machine."""


@dataclass(frozen=True, slots=True)
class PackageRelease:
    """A release on the package index."""

    package: str
    version: str
    pythons: Sequence[str] = ()
    """The Python versions that it has wheels for, oldest first; empty if unknown."""

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


@dataclass(frozen=True, slots=True)
class ReleaseEnvironment:
    """A Python that has a release installed."""

    python: str
    wheel: Wheel


def cache_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache, "tfport", "environments")


def release_environment(
    release: PackageRelease, progress: Progress = lambda doing: None
) -> ReleaseEnvironment:
    """The environment of a release; it is made if it is not there."""
    folder = cache_folder() / f"{release.package}-{release.version}"
    if not (folder / READY).exists():
        make_environment(folder, release, progress)
    return ReleaseEnvironment(
        python_of(str(folder)), Wheel(**json.loads((folder / READY).read_text("utf-8")))
    )


def make_environment(folder: Path, release: PackageRelease, progress: Progress = lambda doing: None) -> None:
    """Make an environment with a release in a folder."""
    interpreters = _interpreters(release)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # renamed when complete: an interrupted installation leaves nothing behind
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent) as temporary:
        environment, why = Path(temporary, "environment"), ""
        pip = _own_pip(Path(temporary))
        for version, interpreter in interpreters.items():
            try:
                progress(f"fetching {release.requirement} for Python {version}")
                wheel = _fetch(pip, release, version, Path(temporary, version))
                progress(f"installing {release.requirement}")
                _install(environment, interpreter, wheel, release)
                break
            except _NoWheel as error:  # of the release, or of a package that it needs
                why = str(error)
                shutil.rmtree(environment, ignore_errors=True)
        else:
            raise CannotProve(
                f"{release.requirement} cannot be installed on {platform.machine()} with Python "
                f"{', '.join(interpreters)}, which this machine has: {why}; name a Python that has it with "
                "--target-python"
            )
        (environment / READY).write_text(
            json.dumps({"name": wheel.name, "sha256": digest(wheel)}), encoding="utf-8"
        )
        shutil.rmtree(folder, ignore_errors=True)
        environment.rename(folder)


def _interpreters(release: PackageRelease) -> dict[str, str]:
    """The interpreters to try by version, newest first."""
    known = [version for version in release.pythons or KNOWN if not version.startswith("2")]  # has no venv
    paths = {version: path for version in reversed(known) if (path := find_python(version))}
    if not paths:
        raise CannotProve(
            f"{release.requirement} needs Python {', '.join(known)}, which this machine does not have "
            f"(looked at {PLACES}); install one, or name a Python that has {release.requirement} with "
            "--target-python"
        )
    return paths


def _fetch(pip: Sequence[str], release: PackageRelease, version: str, folder: Path) -> Path:
    """Download the wheel of a release for a Python version."""
    download = [*pip, *QUIET, "download", "--no-cache-dir", "--no-deps", "--only-binary", ":all:"]
    wanted = ["--implementation", "cp", "--python-version", version, "--dest", str(folder)]
    _step([*download, *wanted, release.requirement], "cannot be fetched", release)
    return next(folder.glob("*.whl"))


def _own_pip(folder: Path) -> list[str]:
    """The pip of this Python, or that of a new environment if it has none."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    _make_venv(folder / "pip", sys.executable)
    return [python_of(str(folder / "pip")), "-m", "pip"]


def _install(environment: Path, interpreter: str, wheel: Path, release: PackageRelease) -> None:
    _make_venv(environment, interpreter)
    pip = [python_of(str(environment)), "-m", "pip", *QUIET]
    install = [*pip, "install", "--quiet", "--no-cache-dir", "--no-compile", "--prefer-binary"]
    _step([*install, OLD_PIP], "needs another pip, which cannot be installed", release)
    wanted = dependencies(release.package, release.version)
    _step([*install, str(wheel), *wanted], "cannot be installed", release)


def _make_venv(environment: Path, interpreter: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if ended := run_to_end([interpreter, "-m", "venv", str(environment)], Path(folder), SECONDS):
            raise CannotProve(f"{interpreter} cannot make a virtual environment: {ended}")


class _NoWheel(Exception):
    """The index has no wheel for a Python, of the release or of a package that it needs."""


def _step(command: Sequence[str], problem: str, release: PackageRelease) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ended = run_to_end(command, Path(folder), SECONDS)
        if not ended:
            return
        lines = log_lines(Path(folder))
    if any(sign in line for line in lines for sign in OFFLINE):
        raise CannotProve(
            f"{release.requirement} {problem}: pip cannot reach the package index; connect to it, or name a "
            f"Python that has {release.requirement} with --target-python"
        )
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-1:]
    message = errors[-1].removeprefix("ERROR:").strip() if errors else ended
    if NO_WHEEL in message:
        raise _NoWheel(message)
    raise CannotProve(f"{release.requirement} {problem}: {message}")


# The Python interpreters of this machine: on PATH, of pyenv, of uv and of the py launcher.

PROBE_SECONDS = 30
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
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.strip().splitlines() if done.returncode == 0 else []


# Dependencies of the age of a release, in tables with rows `(before, requirements)`: a row applies to
# releases older than `before` that no earlier row covers.

OLD_PIP = "pip>=21,<22; python_version < '3.7'"
"""The pip of Python 3.6 supports too few wheel tags, and newer ones do not support Python 3.6."""
OLD = ("protobuf<3.21", "wrapt<1.15", "setuptools<60")
Table = Sequence[tuple[str, Sequence[str]]]
TENSORFLOW: Table = (
    ("2.1", (*OLD, "numpy<1.17", "gast==0.2.2", "h5py<2.11")),
    ("2.5", (*OLD, "numpy<1.20", "gast<0.4", "h5py<2.11")),
    ("2.12", (*OLD, "numpy<1.24", "gast<0.5", "h5py<3.9", "flatbuffers<23")),
    ("2.16", ("wrapt<1.15", "setuptools<70")),
    ("2.18", ("numpy<2", "setuptools<70")),
)
TFLITE_RUNTIME: Table = (("99", ("numpy<2",)),)
KERAS: Table = (
    ("2.4", ("tensorflow==1.15.5", *TENSORFLOW[0][1])),
    ("2.5", ("tensorflow==2.4.4", *TENSORFLOW[1][1])),
    *((f"2.{minor + 1}", (f"tensorflow==2.{minor}.*", *TENSORFLOW[2][1])) for minor in range(6, 12)),
    *((f"2.{minor + 1}", (f"tensorflow==2.{minor}.*", *TENSORFLOW[3][1])) for minor in range(12, 16)),
    ("3.4", ("tensorflow==2.16.2", *TENSORFLOW[4][1])),
    ("99", ("tensorflow",)),
)
"""A Keras needs a TensorFlow, which the package does not require."""
TABLES = {"tflite-runtime": TFLITE_RUNTIME, "ai-edge-litert": (), "keras": KERAS, "tf-keras": ()}


def dependencies(package: str, release: str) -> list[str]:
    """The requirements to install with a release; packages that are not listed are builds of TensorFlow."""
    order = version_key(release)
    rows = TABLES.get(package, TENSORFLOW)
    return next((list(wanted) for before, wanted in rows if order < version_key(before)), [])
