"""A virtual environment with a release from the package index, in the cache folder of the user.

The release is installed by pip, in the newest Python of this machine that it has a wheel for, with
dependencies of its own age (`release_dependencies`). The environment is kept for the next proof.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tfport.errors import Error
from tfport.fix.certify.child_process import log_lines, run_to_end
from tfport.fix.certify.digests import digest
from tfport.fix.certify.runner_facts import Wheel
from tfport.fix.prove.interpreters import KNOWN, PLACES, find_python
from tfport.fix.prove.release_dependencies import OLD_PIP, dependencies

SECONDS = 1800
"""The longest that a step of the installation may take."""
READY = "tfport.json"
"""Written last; an environment without it is not complete."""
NO_WHEEL = "No matching distribution found"
OFFLINE = ("Retrying (", "ConnectionError", "Network is unreachable", "Temporary failure in name resolution")
"""What pip prints if it cannot reach the package index."""
Progress = Callable[[str], None]


class CannotProve(Error):
    """The target cannot be run on this machine."""


@dataclass(frozen=True, slots=True)
class Release:
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


def release_environment(release: Release, progress: Progress = lambda doing: None) -> ReleaseEnvironment:
    """The environment of a release; it is made if it is not there."""
    folder = cache_folder() / f"{release.package}-{release.version}"
    if not (folder / READY).exists():
        make_environment(folder, release, progress)
    return ReleaseEnvironment(
        str(folder / "bin" / "python"), Wheel(**json.loads((folder / READY).read_text()))
    )


def make_environment(folder: Path, release: Release, progress: Progress = lambda doing: None) -> None:
    """Make an environment with a release in a folder."""
    interpreters = _interpreters(release)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # renamed when complete: an interrupted installation leaves nothing behind
    with tempfile.TemporaryDirectory(prefix=f"{folder.name}-", dir=folder.parent) as temporary:
        place = Path(temporary, "environment")
        for number, interpreter in enumerate(interpreters):
            try:
                wheel = _install(place, interpreter, release, progress)
                break
            except _NoWheel as error:
                if number == len(interpreters) - 1:
                    raise CannotProve(str(error)) from None
                shutil.rmtree(place)
        (place / READY).write_text(json.dumps({"name": wheel.name, "sha256": wheel.sha256}))
        shutil.rmtree(folder, ignore_errors=True)
        place.rename(folder)


class _NoWheel(Exception):
    """The index has no wheel of the release for a Python."""


def _interpreters(release: Release) -> list[str]:
    """The interpreters to try, newest first."""
    paths = [path for version in reversed(release.pythons or KNOWN) if (path := find_python(version))]
    if not paths:
        versions = ", ".join(release.pythons or KNOWN)
        raise CannotProve(
            f"{release.requirement} needs Python {versions}, which this machine does not have (looked at "
            f"{PLACES}); install one, or name a Python that has {release.requirement} with --target-python"
        )
    return paths


def _install(place: Path, interpreter: str, release: Release, progress: Progress) -> Wheel:
    progress(f"making an environment for {release.requirement}")
    _step([interpreter, "-m", "venv", str(place)], "cannot make a virtual environment", release)
    pip = [str(place / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--retries", "1"]
    install = [*pip, "install", "--quiet", "--no-cache-dir", "--prefer-binary"]
    _step([*install, OLD_PIP], "cannot install pip", release)
    progress(f"fetching {release.requirement}")
    with tempfile.TemporaryDirectory(dir=place.parent) as wheels:
        _step(
            [*pip, "download", "--no-cache-dir", "--no-deps", "--only-binary", ":all:", "--dest", wheels]
            + [release.requirement],
            "cannot be fetched",
            release,
        )
        (wheel,) = Path(wheels).iterdir()
        progress(f"installing {release.requirement}")
        wanted = dependencies(release.package, release.version)
        _step([*install, str(wheel), *wanted], "cannot be installed", release)
        return Wheel(wheel.name, digest(wheel))


def _step(command: Sequence[str], problem: str, release: Release) -> None:
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
        raise _NoWheel(
            f"{release.requirement} has no wheel on the package index for {platform.machine()} and the "
            f"Pythons of this machine; name a Python that has it with --target-python"
        )
    raise CannotProve(f"{release.requirement} {problem}: {message}")
