"""Which versions of a package go with a release of TensorFlow, from requirements and days of upload.

`package_dates.json` has the day on which each minor version of the packages that TensorFlow requires
appeared, and the numbers of NumPy's C API (`tools/atlas/package_dates.py`). A release was tried with the
versions of its day only, whatever it allows: `versions_beside` has that limit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from packaging.specifiers import SpecifierSet

from tfport.atlas.requirements import declared_requirement
from tfport.atlas.versions import version_key

PRERELEASE = re.compile(r"\.?(?:rc|a|b|dev)\d*$")
TRIED_MAJORS = ("numpy", "protobuf")
"""Packages whose major versions were not compatible with the one before."""


class VersionLimits(NamedTuple):
    """A range of versions, such as `>=1.22,<2`."""

    first: str | None = None
    end: str | None = None
    includes_end: bool = False

    def __str__(self) -> str:
        if self.first == self.end and self.end:
            return f"=={self.end}"
        last = f"<{'=' if self.includes_end else ''}{self.end}" if self.end else ""
        return ",".join(filter(None, (f">={self.first}" if self.first else "", last)))

    @property
    def is_empty(self) -> bool:
        if self.first is None or self.end is None:
            return False
        first, end = version_key(self.first), version_key(self.end)
        return first > end or (first == end and not self.includes_end)

    def __and__(self, other: VersionLimits) -> VersionLimits:
        firsts = [limits.first for limits in (self, other) if limits.first]
        ends = [limits for limits in (self, other) if limits.end]
        lowest = min(
            ends, key=lambda limits: (version_key(limits.end or ""), limits.includes_end), default=self
        )
        return VersionLimits(max(firsts, key=version_key, default=None), lowest.end, lowest.includes_end)


def limits_of(versions: str | SpecifierSet) -> VersionLimits:
    """The range of a requirement, without the single versions that it excludes."""
    limits = VersionLimits()
    for part in SpecifierSet(versions) if isinstance(versions, str) else versions:
        number = PRERELEASE.sub("", part.version.removesuffix(".*"))
        if part.operator in (">=", ">"):
            limits &= VersionLimits(first=number)
        elif part.operator in ("<", "<="):
            limits &= VersionLimits(end=_shortest(number), includes_end=part.operator == "<=")
        elif part.operator == "==" and not part.version.endswith(".*"):
            limits &= VersionLimits(number, number, includes_end=True)
        elif part.operator in ("~=", "=="):
            numbers = number.split(".")
            kept = numbers[: len(numbers) - (part.operator == "~=")]
            limits &= VersionLimits(number, ".".join([*kept[:-1], str(int(kept[-1]) + 1)]))
    return limits


def _shortest(number: str) -> str:
    """2 for `2.0.0`: the same limit."""
    while number.endswith(".0"):
        number = number.removesuffix(".0")
    return number


def declared_versions(requires: Iterable[str], package: str) -> SpecifierSet | None:
    """The versions of a package that a release requires on every Python; None if it does not."""
    declared = [
        requirement.specifier
        for text in requires
        if (requirement := declared_requirement(text))
        and requirement.name.lower().replace("_", "-") == package
        and "extra" not in str(requirement.marker)
    ]
    return SpecifierSet(",".join(map(str, declared))) if declared else None


def versions_beside(facts: dict[str, Any], package: str) -> VersionLimits | None:
    """The versions of a package to install beside a release with these build facts, with an upper limit.

    None if the release does not require the package, or nothing limits its versions.
    """
    declared = declared_versions(facts.get("requires") or (), package)
    if declared is None:
        return None
    limits = limits_of(declared) & VersionLimits(end=_end_on(package, (facts.get("uploaded") or "")[:10]))
    return limits if limits.end and not limits.is_empty else None


def _end_on(package: str, day: str) -> str | None:
    """The minor version after the newest one of a day."""
    known = [minor for minor, first in minors(package).items() if first <= day]
    newest = max(known, key=version_key, default=None)
    later = [minor for minor in minors(package) if newest and version_key(minor) > version_key(newest)]
    return _shortest(min(later, key=version_key)) if later else None


def minors(package: str) -> dict[str, str]:
    """The day on which each minor version of a package appeared."""
    days: dict[str, str] = _record()["uploaded"].get(package, {})
    return days


def uploaded(package: str, version: str) -> str:
    """The day on which the minor version of a version appeared; empty if it is not recorded."""
    return minors(package).get(".".join(version.split(".")[:2]), "")


def first_upload(package: str) -> dict[int, str]:
    """The day on which each major version of a package first appeared."""
    days: dict[int, str] = {}
    for minor, day in minors(package).items() if package in TRIED_MAJORS else ():
        major = version_key(minor).major
        days[major] = min(day, days.get(major, day))
    return days


def numpy_with(number: str, value: str) -> list[str]:
    """The minor versions of NumPy with a number of its C interface: `numpy_with("api", "0xf")`."""
    recorded: dict[str, dict[str, str]] = _record()["numpy_c"]
    return [minor for minor, numbers in recorded.items() if int(numbers[number], 16) == int(value, 16)]


@cache
def _record() -> dict[str, Any]:
    text = Path(__file__).with_name("package_dates.json").read_text("utf-8")
    record: dict[str, Any] = json.loads(text)
    return record
