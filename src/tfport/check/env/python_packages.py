"""Compare Keras, Python, numpy and protobuf with what TensorFlow and the other environment need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from packaging.specifiers import SpecifierSet

from tfport.atlas.atlas import Build
from tfport.atlas.environment import Environment
from tfport.atlas.versions import version_key
from tfport.check.env.allowed_versions import allowed_versions, is_allowed, is_below_allowed, is_major_allowed
from tfport.check.env.difference import UNKNOWN, EnvironmentDifference, difference
from tfport.check.explain.package_dates import first_upload
from tfport.errors import Error

PACKAGES = ("keras", "numpy", "protobuf", "ml-dtypes", "h5py")
"""The packages that `import tensorflow` needs."""
TRIED = {"numpy": 2, "protobuf": 4, "keras": 3}
"""Major versions that were tried with older builds, which then could not be imported."""
MAJOR_DIFFERS = {"numpy": "numpy-abi", "protobuf": "protobuf-major"}
KERAS_3 = 3
MOST_MAJORS = 50


def python_differs(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    yield from _keras(build, runtime)
    yield from _python(build, runtime)
    for package in PACKAGES:
        yield from _package(package, build, runtime)


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


def major_of(version: str) -> int:
    """The major number of a version; 0 if it is invalid."""
    try:
        return version_key(version).major
    except Error:
        return 0


def _keras(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    (before, build_text), (after, runtime_text) = keras_of(build), keras_of(runtime)
    if not before or not after or before == after:
        return
    if after < before:
        yield difference("keras-2", "Keras", build_text, runtime_text)
    else:
        name = "keras-3-with-tf-keras" if "tf-keras" in runtime.packages else "keras-3"
        yield difference(name, "Keras", build_text, runtime_text)


def _python(build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    build_version, runtime_version = build.python or UNKNOWN, runtime.python
    if not runtime_version or build_version == runtime_version:
        return
    tensorflow = runtime.target.build if runtime.target else None
    pythons = (tensorflow.facts.get("pythons") or []) if tensorflow else []
    if tensorflow and pythons and runtime_version not in pythons:
        yield difference(
            "python-without-wheel", "Python", build_version, runtime_version,
            tensorflow=tensorflow.name, pythons=", ".join(pythons), newest=pythons[-1],
        )  # fmt: skip
    elif build.python:
        yield difference("python-other", "Python", build_version, runtime_version)


def _package(package: str, build: Environment, runtime: Environment) -> Iterator[EnvironmentDifference]:
    build_version, runtime_version = build.version(package), runtime.version(package)
    if not runtime_version:
        return
    sides = (package, build_version or UNKNOWN, runtime_version)
    tensorflow = runtime.target.build if runtime.target else None
    mismatch = _mismatch(package, sides, tensorflow, runtime) if tensorflow else None
    if mismatch:
        if build_version != runtime_version or build.target is None or build.target.build is not tensorflow:
            yield mismatch
    elif build_version and package in MAJOR_DIFFERS and major_of(build_version) != major_of(runtime_version):
        yield difference(MAJOR_DIFFERS[package], *sides)


def _mismatch(
    package: str, sides: tuple[str, str, str], tensorflow: Build, runtime: Environment
) -> EnvironmentDifference | None:
    """Why TensorFlow does not support the version of a package: as tested, or else as declared."""
    version, major = sides[-1], major_of(sides[-1])
    allowed = allowed_versions(tensorflow, package, runtime.python)
    first, later = TRIED.get(package, major + 1), _later(package, tensorflow)
    supported = any(is_major_allowed(number, allowed) for number in range(first, min(major, MOST_MAJORS) + 1))
    values: dict[str, Any] = {"package": package, "tensorflow": tensorflow.name}
    values["required"] = _limits(allowed[-1]) if allowed else ""
    if major >= first and (first in later or not supported):
        return difference(f"{package}-too-new", *sides, first=first, **values)
    if not is_allowed(version, allowed):
        old = package == "protobuf" or (package == "keras" and not is_major_allowed(major, allowed))
        name = f"{package}-too-old" if old and is_below_allowed(version, allowed) else "package-out-of-range"
        return difference(name, *sides, **values)
    if major in later:
        values |= {"made": _day(tensorflow), "first": min(later), "since": later[min(later)]}
        return difference("package-too-new", *sides, **values)
    return None


def _later(package: str, tensorflow: Build) -> dict[int, str]:
    """The major versions of a package that appeared after a build was published."""
    made = _day(tensorflow)
    return {major: day for major, day in first_upload(package).items() if made and made < day}


def _day(build: Build) -> str:
    return str(build.facts.get("uploaded") or "")[: len("YYYY-MM-DD")]


def _limits(versions: SpecifierSet) -> str:
    """The limits of a range, without single excluded versions."""
    return str(SpecifierSet(",".join(str(limit) for limit in versions if limit.operator != "!=")))
