"""Versions of packages that were installed beside a TensorFlow, and failed.

The table `measured_conflicts.toml` has what wheels do not declare, or declare without saying what
happens; each row holds for the minor releases that were tried.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion

from tfport.atlas.atlas import Build
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class MeasuredConflict:
    """One row of the table."""

    name: str
    """Its row in `breaks.toml`."""
    package: str
    versions: SpecifierSet
    tensorflow: SpecifierSet
    measured: str
    """What was tried and what happened."""

    @property
    def values(self) -> dict[str, str]:
        """Its values for the placeholders in `breaks.toml`."""
        return {"measured": self.measured}


def measured_conflict(package: str, version: str, build: Build) -> MeasuredConflict | None:
    """The row about a version of a package beside a TensorFlow, if it was tried."""
    for row in measured_conflicts():
        try:
            applies = row.package == package and row.versions.contains(version, prereleases=True)
        except InvalidVersion:
            continue
        if applies and row.tensorflow.contains(build.version, prereleases=True):
            return row
    return None


@cache
def measured_conflicts() -> list[MeasuredConflict]:
    """All rows of the table."""
    text = Path(__file__).with_name("measured_conflicts.toml").read_text(encoding="utf-8")
    return [
        MeasuredConflict(
            row["name"],
            row["package"],
            SpecifierSet(row["versions"]),
            SpecifierSet(row["tensorflow"]),
            row["measured"],
        )
        for row in tomllib.loads(text)["conflict"]
    ]
