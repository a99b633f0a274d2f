"""Which versions of TensorFlow's companion packages exist, and which TensorFlow each requires.

Recorded from the package index by `tools/atlas/package_versions.py`, with the day. A version that
is newer than that day is unknown here, not missing.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from tfport.atlas.versions import version_key
from tfport.startup.dataclass import dataclass

FAR = "2.9999"
"""Later than any release of TensorFlow 2."""


@dataclass(frozen=True, slots=True)
class PackageVersion:
    """One version of a package that has a wheel for Linux."""

    package: str
    version: str
    uploaded: str
    python: str = ""
    """The Python versions it requires, such as `>=3.9`."""
    tensorflow: str = ""
    """The TensorFlow versions it requires, such as `<2.9,>=2.8.0`; empty if it does not say."""

    @property
    def requires(self) -> tuple[str, ...]:
        """Its other requirements on Linux, as in Requires-Dist, without extras."""
        return tuple(_requirements().get(self.package, {}).get(self.version, ()))

    def accepts(self, tensorflow: str) -> bool:
        """Whether it accepts a release of TensorFlow; without a requirement it does."""
        return _contains(self.tensorflow, tensorflow)

    def accepts_python(self, python: str) -> bool:
        """Whether it has a wheel for a Python version; if that is unknown, it does."""
        return not python or _contains(self.python, python)


def recorded_on() -> str:
    """The day of the record: `2026-11-16`."""
    return str(_record()["recorded"])


@cache
def package_versions(package: str) -> dict[str, PackageVersion]:
    """The recorded versions of a package, the oldest first; empty for an unknown package."""
    rows: dict[str, dict[str, Any]] = _record()["packages"].get(package, {})
    return {
        version: PackageVersion(
            package,
            version,
            row["uploaded"],
            row.get("python", ""),
            row.get("tensorflow", ""),
        )
        for version, row in rows.items()
    }


def recorded_version(package: str, version: str) -> PackageVersion | None:
    """The record of a version: `2.8` and `2.8.0` are the same."""
    wanted = version_key(version)
    versions = package_versions(package)
    return versions.get(version) or next((v for n, v in versions.items() if version_key(n) == wanted), None)


def fitting_version(package: str, tensorflow: str, published: str, python: str = "") -> PackageVersion | None:
    """The newest version that declares support for a release of TensorFlow; None if there is none.

    A version without an upper limit counts only if it appeared after the release was published:
    it was not tried with later ones.
    """
    return _newest(
        version
        for version in package_versions(package).values()
        if version.tensorflow
        and version.accepts(tensorflow)
        and version.accepts_python(python)
        and (_has_upper_limit(version.tensorflow) or version.uploaded >= published)
    )


def declares_tensorflow(package: str) -> bool:
    """Whether some version of a package says which TensorFlow it requires, with an upper limit."""
    return any(_has_upper_limit(version.tensorflow) for version in package_versions(package).values())


def _has_upper_limit(versions: str) -> bool:
    """Whether a range ends before the next major release: `<2.9` does, `>=2.4` and `<3` do not."""
    return bool(versions) and not _contains(versions, FAR)


def _newest(versions: Iterable[PackageVersion]) -> PackageVersion | None:
    return max(versions, key=lambda version: version_key(version.version), default=None)


def _contains(versions: str, version: str) -> bool:
    try:
        return SpecifierSet(versions).contains(version, prereleases=True)
    except InvalidSpecifier:
        return True


@cache
def _record() -> dict[str, Any]:
    text = Path(__file__).with_name("package_versions.json").read_text("utf-8")
    record: dict[str, Any] = json.loads(text)
    return record


@cache
def _requirements() -> dict[str, dict[str, list[str]]]:
    data = Path(__file__).with_name("package_requirements.json.xz").read_bytes()
    record: dict[str, dict[str, list[str]]] = json.loads(lzma.decompress(data))
    return record
