"""Compare Keras, Python, numpy and protobuf of two environments; what TensorFlow allows and packages import.

`package_imports.json.xz` has the imports of companion packages that some release does not satisfy, as
`tools/atlas/package_imports.py` reads them from the wheels. The recorded Python names of each minor
release of TensorFlow and Keras say whether one does.
"""

from __future__ import annotations

import functools
import json
import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion

from tfport.atlas.atlas import Build
from tfport.atlas.environment import Environment
from tfport.atlas.package_requirement import canonical_name
from tfport.atlas.package_versions import PackageVersion, package_versions
from tfport.atlas.python_names import Presence, presence
from tfport.atlas.requirements import LINUX, declared_requirement
from tfport.atlas.versions import version_key
from tfport.env.difference import EnvironmentDifference, addon_advice, difference
from tfport.errors import Error

MAJOR_DIFFERS = {"numpy": "numpy-abi", "protobuf": "protobuf-major"}
KERAS_3 = 3
MOST_LISTED = 0.75
"""How many of TensorFlow's requirements a list of everything has at least: some are for other Pythons."""
RECORDED = Path(__file__).with_name("package_imports.json.xz")


def python_differs(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    yield from _keras(build, runtime)
    yield from _python(build, runtime)
    for package in MAJOR_DIFFERS:
        yield from _major(package, build, runtime)


def keras_of(environment: Environment) -> tuple[int, str]:
    """The generation of Keras (0 if unknown) and its description."""
    if version := environment.version("keras"):
        return major_of(version), version
    target = environment.target
    tensorflow = target.build if target and target.kind != "serving" else None
    if tensorflow is None:
        return 0, ""
    allowed = allowed_versions(tensorflow, "keras", environment.python)
    newer = any(versions.contains(f"{KERAS_3}.99", prereleases=True) for versions in allowed)
    generation = KERAS_3 if newer else KERAS_3 - 1
    return generation, f"{generation}, with {tensorflow.name}"


def _keras(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    (before, build_text), (after, runtime_text) = keras_of(build), keras_of(runtime)
    if not before or not after or before == after:
        return
    if after < before:
        yield difference("keras-2", "Keras", build_text, runtime_text)
    else:
        name = "keras-3-with-tf-keras" if "tf-keras" in runtime.packages else "keras-3"
        tensorflow = runtime.target.build if runtime.target else None
        advice = (
            addon_advice("tf-keras", tensorflow, runtime.python) if tensorflow else "pip install tf_keras"
        )
        yield difference(name, "Keras", build_text, runtime_text, advice=advice)


def _python(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    if build.python and runtime.python and build.python != runtime.python:
        yield difference("python-other", "Python", build.python, runtime.python)


def _major(package: str, build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    before, after = build.version(package), runtime.version(package)
    if before and after and major_of(before) != major_of(after):
        yield difference(MAJOR_DIFFERS[package], package, before, after)


def major_of(version: str) -> int:
    """The major number of a version; 0 if it is invalid."""
    try:
        return version_key(version).major
    except Error:
        return 0


# The versions of other packages that the wheel of a build allows.


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


class UnmetRequirement(NamedTuple):
    """A requirement of a package, and what is there instead."""

    package: str
    allowed: str
    installed: str
    """The installed version; empty if the package is not installed."""


def unmet_requirements(
    package: PackageVersion, environment: Environment, build: Build
) -> Iterator[UnmetRequirement]:
    """The recorded requirements of a package that an environment does not meet, besides TensorFlow."""
    is_complete = _lists_everything(environment, build)
    for requirement in filter(None, map(declared_requirement, package.requires)):
        name, allowed = canonical_name(requirement.name), requirement.specifier
        version = environment.version(name)
        if not _applies(requirement.marker, environment.python):
            continue
        if (version and not is_allowed(version, [allowed])) or (
            is_complete and name not in environment.packages
        ):
            yield UnmetRequirement(name, str(allowed), version)


def _lists_everything(environment: Environment, build: Build) -> bool:
    """Whether an environment has what pip installs beside TensorFlow: what it lacks then is not installed."""
    own = required_packages(build)
    return bool(own) and sum(name in environment.packages for name in own) >= MOST_LISTED * len(own)


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


# Whether a package can be imported, by what it imports from TensorFlow and Keras.


def possible_keras(environment: Environment, build: Build) -> list[str]:
    """The installed version of Keras, or all that TensorFlow's wheel allows; empty if it requires none."""
    if version := environment.version("keras"):
        return [version]
    allowed = allowed_versions(build, "keras", environment.python)
    return [version for version in package_versions("keras") if allowed and is_allowed(version, allowed)]


def failing_import(package: str, version: str, tensorflow: str, keras: Sequence[str]) -> str | None:
    """The module or name that a package imports and that is not there; None if nothing is known to fail.

    `keras` has the versions that may be installed; none if that is unknown.
    """
    minor = _minor(tensorflow)
    for wanted, (first, last) in _record().get(package, {}).get(version, {}).items():
        is_reached = version_key(first) <= version_key(minor) <= version_key(last)
        beside = [tensorflow] if wanted.startswith("tensorflow") else keras
        if is_reached and beside and (missing := _missing(wanted, beside)):
            return missing
    return None


def _missing(wanted: str, releases: Sequence[str]) -> str | None:
    """The module, or the name in it, that none of the releases has."""
    module, _, name = wanted.partition(":")
    if _is_in_none(presence(module), releases):
        return module
    return f"{module}.{name}" if name and _is_in_none(presence(module, name), releases) else None


def _is_in_none(names: Presence | None, releases: Sequence[str]) -> bool:
    """Whether some release has a name, and none of these; later ones than those recorded may have it."""
    return names is not None and bool(names.spans) and not any(_may_have(names, r) for r in releases)


def _may_have(names: Presence, release: str) -> bool:
    minor = version_key(_minor(release))
    return minor > version_key(names.newest) or any(
        version_key(first) <= minor <= version_key(last) for first, last in names.spans
    )


def _minor(release: str) -> str:
    return ".".join(map(str, version_key(release).release[:2]))


@functools.cache
def _record() -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads(lzma.decompress(RECORDED.read_bytes()))
    return recorded
