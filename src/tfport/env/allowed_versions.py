"""The versions of other packages that a TensorFlow build allows, as its wheel declares."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion

from tfport.atlas.atlas import Build
from tfport.atlas.package_names import canonical_name
from tfport.atlas.requirements import LINUX, declared_requirement
from tfport.atlas.versions import version_key


def allowed_versions(build: Build, package: str, python: str) -> list[SpecifierSet]:
    """The allowed versions of a package: one set, or one for each Python if the Python is unknown."""
    return [
        requirement.specifier
        for requirement in _requirements(build)
        if canonical_name(requirement.name) == package and _applies(requirement.marker, python)
    ]


def is_allowed(version: str, allowed: list[SpecifierSet]) -> bool:
    """Whether one of the sets allows a version; without sets, every version is allowed."""
    try:
        return not allowed or any(versions.contains(version, prereleases=True) for versions in allowed)
    except InvalidVersion:  # for example `===main`
        return True


def is_major_allowed(major: int, allowed: list[SpecifierSet]) -> bool:
    """Whether some version of a major version is allowed."""
    return any(
        is_allowed(version, allowed)
        for version in (f"{major}.0.0", f"{major}.9999", *_lowest_versions(major, allowed))
    )


def is_below_allowed(version: str, allowed: list[SpecifierSet]) -> bool:
    """Whether a version is older than every allowed version."""
    starts = [limit.version for limits in allowed for limit in limits if limit.operator in (">=", "~=")]
    return bool(starts) and all(version_key(version) < version_key(start) for start in starts)


def _lowest_versions(major: int, allowed: list[SpecifierSet]) -> Iterator[str]:
    """The lower limits that belong to a major version."""
    for limit in (limit for limits in allowed for limit in limits if limit.operator in (">=", "~=", "==")):
        if limit.version.partition(".")[0] == str(major):
            yield limit.version.removesuffix(".*")


def required_packages(build: Build) -> list[str]:
    """The packages that a build requires, without extras."""
    return list(dict.fromkeys(canonical_name(r.name) for r in _requirements(build)))


def _requirements(build: Build) -> Iterator[Requirement]:
    for text in build.facts.get("requires") or ():
        requirement = declared_requirement(text)
        if requirement and "extra" not in str(requirement.marker):
            yield requirement


def _applies(marker: Marker | None, python: str) -> bool:
    """Whether a marker is true on Linux; one about an unknown Python is."""
    if marker is None or (not python and "python" in str(marker)):
        return True
    version = {"python_version": python, "python_full_version": f"{python}.0"} if python else {}
    return marker.evaluate({**LINUX, **version})
