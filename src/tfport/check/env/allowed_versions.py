"""What does a build of TensorFlow ask of the packages beside it? As its wheel declares."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.markers import Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from tfport.atlas.atlas import Build
from tfport.atlas.requirements import LINUX
from tfport.atlas.versions import version_key


def allowed_versions(build: Build, package: str, python: str) -> list[SpecifierSet]:
    """The versions that will do: one set, or one for each Python where that is not known."""
    return [
        requirement.specifier
        for requirement in _requirements(build)
        if canonicalize_name(requirement.name) == package and _counts(requirement.marker, python)
    ]


def is_allowed(version: str, asked: list[SpecifierSet]) -> bool:
    """Whether a version is asked for by one of them; nothing asked, anything goes."""
    try:
        return not asked or any(versions.contains(version, prereleases=True) for versions in asked)
    except InvalidVersion:  # such as `===main`
        return True


def is_major_allowed(major: int, asked: list[SpecifierSet]) -> bool:
    """Whether some version with this first number is asked for."""
    return any(
        is_allowed(version, asked) for version in (f"{major}.0.0", f"{major}.9999", *_least(major, asked))
    )


def is_below_allowed(version: str, asked: list[SpecifierSet]) -> bool:
    """Whether a version is older than all that are asked for."""
    starts = [one.version for versions in asked for one in versions if one.operator in (">=", "~=")]
    return bool(starts) and all(version_key(version) < version_key(start) for start in starts)


def _least(major: int, asked: list[SpecifierSet]) -> Iterator[str]:
    """Where the ranges begin that begin with this number."""
    for one in (one for versions in asked for one in versions if one.operator in (">=", "~=", "==")):
        if one.version.partition(".")[0] == str(major):
            yield one.version.removesuffix(".*")


def _requirements(build: Build) -> Iterator[Requirement]:
    for text in build.facts.get("requires") or ():
        try:
            yield Requirement(text)
        except InvalidRequirement:
            continue


def _counts(marker: Marker | None, python: str) -> bool:
    if marker is None or not python:
        return True
    return marker.evaluate({**LINUX, "python_version": python, "python_full_version": f"{python}.0"})
