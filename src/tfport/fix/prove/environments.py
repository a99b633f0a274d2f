"""A virtual environment with a release from the package index, in the cache folder of the user.

The release is installed by pip, in the newest Python of this machine that it has a wheel for, with
dependencies of its own age (`release_dependencies`). The environment is kept for the next proof.
"""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tfport.errors import Error
from tfport.fix.certify.child_process import log_lines, run_to_end
from tfport.fix.certify.digests import digest
from tfport.fix.certify.runner_facts import Wheel
from tfport.fix.prove.interpreters import KNOWN, PLACES, find_python
from tfport.fix.prove.release_dependencies import OLD_PIP, dependencies
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
        str(folder / "bin" / "python"), Wheel(**json.loads((folder / READY).read_text()))
    )


def make_environment(folder: Path, release: PackageRelease, progress: Progress = lambda doing: None) -> None:
    """Make an environment with a release in a folder."""
    interpreters = _interpreters(release)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # renamed when complete: an interrupted installation leaves nothing behind
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent) as temporary:
        place, why = Path(temporary, "environment"), ""
        pip = _own_pip(Path(temporary))
        for version, interpreter in interpreters.items():
            try:
                progress(f"fetching {release.requirement} for Python {version}")
                wheel = _fetch(pip, release, version, Path(temporary, version))
                progress(f"installing {release.requirement}")
                _install(place, interpreter, wheel, release)
                break
            except _NoWheel as error:  # of the release, or of a package that it needs
                why = str(error)
                shutil.rmtree(place, ignore_errors=True)
        else:
            raise CannotProve(
                f"{release.requirement} cannot be installed on {platform.machine()} with Python "
                f"{', '.join(interpreters)}, which this machine has: {why}; name a Python that has it with "
                "--target-python"
            )
        (place / READY).write_text(json.dumps({"name": wheel.name, "sha256": digest(wheel)}))
        shutil.rmtree(folder, ignore_errors=True)
        place.rename(folder)


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
    return [str(folder / "pip" / "bin" / "python"), "-m", "pip"]


def _install(place: Path, interpreter: str, wheel: Path, release: PackageRelease) -> None:
    _make_venv(place, interpreter)
    pip = [str(place / "bin" / "python"), "-m", "pip", *QUIET]
    install = [*pip, "install", "--quiet", "--no-cache-dir", "--no-compile", "--prefer-binary"]
    _step([*install, OLD_PIP], "needs another pip, which cannot be installed", release)
    wanted = dependencies(release.package, release.version)
    _step([*install, str(wheel), *wanted], "cannot be installed", release)


def _make_venv(place: Path, interpreter: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if ended := run_to_end([interpreter, "-m", "venv", str(place)], Path(folder), SECONDS):
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
