"""A relevant difference between two environments: what it breaks, and how certain that is.

The sentences are in `breaks.toml`; a rule selects one by name and fills its placeholders.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tfport.atlas.atlas import Build
from tfport.atlas.package_versions import (
    declares_tensorflow,
    fitting_version,
    package_versions,
    recorded_on,
    recorded_version,
)
from tfport.startup.dataclass import dataclass

BREAKS, MAY_BREAK, NOTE = SEVERITIES = ("breaks", "may-break", "note")
UNKNOWN, NONE = "?", "none"
"""Texts for unknown and for absent values."""


@dataclass(frozen=True)
class EnvironmentDifference:
    """One difference and its consequence."""

    name: str
    subject: str
    """`tensorflow`, `numpy`, `GLIBC`."""
    build: str
    runtime: str
    severity: str
    concerns: str
    breaks: str
    sure: str
    """`measured`, `declared` or `likely`."""
    source: str
    fixes: tuple[str, ...]
    names: tuple[str, ...]
    """The affected ops, attributes or symbols."""


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("breaks.toml").read_text("utf-8"))


def difference(
    name: str, subject: str, build: str, runtime: str, *, names: Sequence[str] = (), **values: object
) -> EnvironmentDifference:
    """The difference of a name, with its placeholders filled."""
    row = _table()[name]
    known = {"build": build, "runtime": runtime, **values}
    return EnvironmentDifference(
        name=name,
        subject=subject,
        build=build,
        runtime=runtime,
        severity=row["severity"],
        concerns=row["concerns"],
        breaks=row["breaks"].format_map(known),
        sure=row["sure"],
        source=row["source"].format_map(known),
        fixes=tuple(fix.format_map(known) for fix in row["fixes"]),
        names=tuple(names),
    )


# What to install: only versions that the package index has.


def addon_advice(package: str, tensorflow: Build, python: str = "") -> str:
    """Which version of a package to install beside a TensorFlow; or that there is none."""
    if not package_versions(package):
        return f"install the version of {package} that was built for {tensorflow.name}"
    if fitting := fitting_version(package, tensorflow.version, published(tensorflow), python):
        return f"pip install {package}=={fitting.version}"
    if declares_tensorflow(package):
        beside = f" on Python {python}" if python else ""
        return f"no version of {package} supports {tensorflow.name}{beside} (as of {recorded_on()})"
    return f"install the version of {package} that was built for {tensorflow.name}"


def same_addon_advice(package: str, version: str, tensorflow: Build) -> str:
    """How to keep a version of a package beside another TensorFlow."""
    known = recorded_version(package, version)
    if known is not None and not known.accepts(tensorflow.version):
        return f"{package} {version} has them, and requires tensorflow{known.tensorflow}: install both"
    return f"pip install {package}=={version}"


def published(build: Build) -> str:
    """The day on which a build was published; empty if unknown."""
    return str(build.facts.get("uploaded") or "")[: len("YYYY-MM-DD")]
