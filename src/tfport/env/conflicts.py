"""What does not fit together inside one environment.

`conflicts_of(environment)` compares TensorFlow with everything beside it: its packages, its
Python, its add-ons, its system and its CUDA libraries. What wheels do not declare, or declare
without saying what happens, is in the table `measured_conflicts.toml`: each row has versions that
were installed beside a TensorFlow and failed, and holds for the minor releases that were tried.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion

from tfport.atlas.atlas import Build
from tfport.atlas.cuda import cuda_of
from tfport.atlas.environment import Environment
from tfport.atlas.package_dates import first_upload
from tfport.atlas.package_versions import PackageVersion, recorded_version
from tfport.atlas.versions import version_key
from tfport.env.difference import EnvironmentDifference, addon_advice, difference, published
from tfport.env.python_packages import (
    allowed_versions,
    failing_import,
    is_allowed,
    is_below_allowed,
    is_major_allowed,
    major_of,
    possible_keras,
    required_packages,
    unmet_requirements,
)
from tfport.env.system import CUDA, RUNTIMES, has_gpus, same_cuda
from tfport.errors import Error
from tfport.startup.dataclass import dataclass

TRIED = {"numpy": 2, "protobuf": 4, "keras": 3}
"""Major versions that were tried with older builds, which then could not be imported."""
MOST_MAJORS = 50


def conflicts_of(environment: Environment) -> Iterator[EnvironmentDifference]:
    """The conflicts of an environment; none if its TensorFlow is unknown."""
    build = environment.target.build if environment.target else None
    if environment.target is None or build is None:
        return
    if environment.target.kind != "serving":
        yield from _python(environment, build)
        yield from _packages(environment, build)
        yield from _companions(environment, build)
    yield from _system(environment, build)
    yield from _cuda(environment, build)


def _python(environment: Environment, build: Build) -> Iterator[EnvironmentDifference]:
    pythons = build.facts.get("pythons") or []
    if environment.python and pythons and environment.python not in pythons:
        yield _conflict(
            "python-without-wheel", "Python", environment.python,
            tensorflow=build.name, pythons=", ".join(pythons), newest=pythons[-1],
        )  # fmt: skip


def _packages(environment: Environment, build: Build) -> Iterator[EnvironmentDifference]:
    """Compare each package with what TensorFlow's wheel requires, and with what was tried."""
    for package in dict.fromkeys([*TRIED, *required_packages(build), "h5py"]):
        version = environment.version(package)
        if version and (conflict := _package(package, version, build, environment)):
            yield conflict


def _package(
    package: str, version: str, build: Build, environment: Environment
) -> EnvironmentDifference | None:
    """Why TensorFlow does not support the version of a package: as tested, or else as declared."""
    major = major_of(version)
    allowed = allowed_versions(build, package, environment.python)
    first, later = TRIED.get(package, major + 1), _later(package, build)
    supported = any(is_major_allowed(number, allowed) for number in range(first, min(major, MOST_MAJORS) + 1))
    values: dict[str, Any] = {"package": package, "tensorflow": build.name}
    values["required"] = _limits(allowed[-1]) if allowed else ""
    if major >= first and (first in later or not supported):
        return _conflict(f"{package}-too-new", package, version, first=first, **values)
    if measured := measured_conflict(package, version, build):
        return _conflict(measured.name, package, version, **values, **measured.values)
    if not is_allowed(version, allowed):
        old = package == "protobuf" or (package == "keras" and not is_major_allowed(major, allowed))
        name = f"{package}-too-old" if old and is_below_allowed(version, allowed) else "package-out-of-range"
        return _conflict(name, package, version, **values)
    if major in later:
        values |= {"made": published(build), "first": min(later), "since": later[min(later)]}
        return _conflict("package-too-new", package, version, **values)
    return None


def _later(package: str, build: Build) -> dict[int, str]:
    """The major versions of a package that appeared after a build was published."""
    day_built = published(build)
    return {major: day for major, day in first_upload(package).items() if day_built and day_built < day}


def _limits(versions: SpecifierSet) -> str:
    """The limits of a range, without single excluded versions."""
    return str(SpecifierSet(",".join(str(limit) for limit in versions if limit.operator != "!=")))


def _companions(environment: Environment, build: Build) -> Iterator[EnvironmentDifference]:
    """Packages that cannot be imported, or that declare another TensorFlow than the one beside them."""
    own = required_packages(build)
    for package in environment.packages:
        known = _recorded(environment, package)
        if known is None or package in own:  # TensorFlow's own requirements are compared by `_packages`
            continue
        advice = addon_advice(package, build, environment.python)
        values = {"addon": package, "tensorflow": build.name, "advice": advice}
        keras = possible_keras(environment, build)
        if missing := failing_import(package, known.version, build.version, keras):
            where = f"Keras {keras[-1]}" if missing.startswith("keras") else build.name
            yield _conflict(
                "addon-import-fails", package, known.version, **values, missing=missing, where=where
            )
        elif not known.accepts(build.version):
            yield _conflict("addon-refuses", package, known.version, **values, required=known.tensorflow)
        for unmet in unmet_requirements(known, environment, build):
            there = f"{unmet.package} {unmet.installed}" if unmet.installed else "it"
            yield _conflict(
                "addon-lacks-requirement", package, known.version,
                addon=package, wanted=f"{unmet.package}{unmet.allowed}",
                installed=f"{there} is{'' if unmet.installed else ' not'} installed",
            )  # fmt: skip


def _recorded(environment: Environment, package: str) -> PackageVersion | None:
    try:
        version = environment.version(package)
        return recorded_version(package, version) if version else None
    except Error:  # not a release number
        return None


def _system(environment: Environment, build: Build) -> Iterator[EnvironmentDifference]:
    if environment.system.libc == "musl":
        yield _conflict("no-glibc", "C library", "musl", tensorflow=build.name)
    for fact, name in RUNTIMES.items():
        version, floor = getattr(environment.system, fact), build.facts.get(fact)
        if version and floor and version_key(version) < version_key(floor):
            yield _conflict("below-floor", name, version, tensorflow=build.name, library=name, floor=floor)


def _cuda(environment: Environment, build: Build) -> Iterator[EnvironmentDifference]:
    """Compare the installed CUDA libraries with the versions that TensorFlow was built with."""
    for library, (fact, name) in CUDA.items():
        version, required = environment.cuda.get(library, ""), cuda_of(build.facts).get(fact)
        mismatch = version and required and not same_cuda(required, version, by_major=library == "cudnn")
        if mismatch and has_gpus(environment):
            yield _conflict(
                "cuda-unfit", name, version, tensorflow=build.name, library=name, required=required
            )


def _conflict(name: str, subject: str, version: str, **values: Any) -> EnvironmentDifference:
    return difference(name, subject, version, version, **values)


# Conflicts that were measured.


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
    text = Path(__file__).with_name("measured_conflicts.toml").read_text("utf-8")
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
