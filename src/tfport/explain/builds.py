"""Look up what releases require around them: GLIBC, Python, NumPy, protobuf, Keras."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from tfport.atlas.atlas import Build, atlas
from tfport.atlas.cuda import cuda_of
from tfport.atlas.package_dates import (
    TRIED_MAJORS,
    VersionLimits,
    declared_versions,
    limits_of,
    uploaded,
    versions_beside,
)
from tfport.atlas.package_versions import fitting_version
from tfport.atlas.release_spans import STOCK, on_x86, spans
from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.explain.lookup import Meaning, MessageMatch, recorded
from tfport.explain.messages import PIP

GPU_PACKAGE = "tensorflow-gpu"
FLOORS = {"GLIBC": "glibc", "GLIBCXX": "glibcxx", "CXXABI": "cxxabi"}
CPP = ("glibcxx", "cxxabi")
STANDARD_LIBRARY = [
    "install a newer libstdc++ (in conda: `conda install -c conda-forge libstdcxx-ng`); "
    "the path in the message shows which one was used",
]
MOST_RELEASES = 3
MOST_CHOICES = 4
OFFERED = re.compile(r"\(from versions: (\d[\w.]*(?:, \d[\w.]*){0,400})\)")
PRERELEASE = re.compile(r"[-.]?(?:alpha|beta|rc|a|b|dev)\.?\d+")
REQUIREMENT = re.compile(
    r"(?:the requirement|found for) [\w.-]{1,200}(?:\[[\w,-]{1,200}\])?"
    r" ?((?:[<>=!~]{1,3} ?\d[\w.*]{0,40}(?: ?, ?)?){1,20}(?<![, ]))"
)
NO_WHEELS = "(from versions: none)"
NEWEST_KERAS = "3.12.0"
Facts = dict[str, Any]


def releases_with(holds: Callable[[Facts], bool]) -> str:
    """The TensorFlow releases whose build facts satisfy a condition.

    Releases of the GPU package are listed only if the stock package of that version does not match.
    """
    stock = on_x86(atlas(), STOCK)
    matching = {build.number for build in stock if holds(build.facts)}
    versions = {build.version for build in stock if build.number in matching}
    others = [build for build in on_x86(atlas(), GPU_PACKAGE) if build.version not in versions]
    gpu = {build.number for build in others if holds(build.facts)}
    by_package = {STOCK: spans(stock, matching), GPU_PACKAGE: spans(others, gpu)}
    return " and ".join(f"{name} {recorded(releases)}" for name, releases in by_package.items() if releases)


def floor(match: MessageMatch, target: Target | None) -> Meaning | None:
    """Which releases need an older GLIBC, GLIBCXX or CXXABI than the message names."""
    fact = FLOORS.get(match.names["floor"])
    if fact is None:
        return None
    name = match.names["floor"]
    older = releases_below(name, match.names["version"])
    facts = [f"Releases that need only an older {name}: {older}."] if older else []
    build = target.build if target else None
    on_target = [f"{build.name} needs {name} {build.facts[fact]}"] if build and build.facts.get(fact) else []
    return Meaning(facts, STANDARD_LIBRARY if fact in CPP else [], on_target)


def releases_below(name: str, version: str) -> str:
    """The releases that need only an older GLIBC, GLIBCXX or CXXABI than a version."""
    fact, limit = FLOORS[name], version_key(version)
    return releases_with(lambda facts: bool(facts.get(fact)) and version_key(facts[fact]) < limit)


def build_summary(version: str) -> str | None:
    """For which Pythons a release has wheels, and its CUDA; None if it is not recorded."""
    build = next((b for b in reversed(on_x86(atlas(), STOCK)) if _is_patch_of(b, version)), None)
    if build is None or not (pythons := build.facts.get("pythons")):
        return None
    cuda = cuda_of(build.facts)
    built = [f"CUDA {cuda['version']}"] if cuda.get("version") else []
    built += [f"cuDNN {cuda['cudnn']}"] if cuda.get("cudnn") else []
    on = f", and was built with {' and '.join(built)}" if built else ""
    return f"TensorFlow {build.version} has wheels for Python {', '.join(pythons)}{on}"


def _requirement(facts: Facts, package: str) -> SpecifierSet | None:
    """The versions of a package that a release requires; None if it does not require the package."""
    return declared_versions(facts.get("requires") or (), package)


def _releases_allowing(package: str, versions: Sequence[str], target: Target | None) -> Meaning:
    """Which releases allow each version of a package, and what the target requires.

    A release without an upper limit counts only if it appeared after the version: it was not
    tested with later ones.
    """
    allowing = {version: releases_with(_allows(package, version)) for version in versions}
    facts = [
        f"Releases that allow {package} {v}: {releases}." for v, releases in allowing.items() if releases
    ]
    build = target.build if target else None
    required = _requirement(build.facts, package) if build else None
    if build is None or required is None:
        return Meaning(facts)
    return Meaning(
        facts, [f"pip install '{package}{required}'"], [f"{build.name} requires {package}{required}"]
    )


def with_versions(way: str, match: MessageMatch, target: Target | None) -> str:
    """A way out with versions of the package in its command (`messages.PIP`) that fit the TensorFlow."""
    if (command := PIP.search(way)) is None:
        return way
    package, limits = command[1], limits_of(command[2])
    build = installed_release(match, target)
    if build is None:
        return _with_versions_for_any(way, package, limits) if limits.end else _choose(package, match)
    beside = _beside(build, package)
    if beside is None:
        return PIP.sub(f"'{package}{limits}'", way) if limits.end else _choose(package, match)
    if (beside & limits).is_empty:
        return f"{package}{limits}, with another TensorFlow: {build.name} requires {package}{beside}"
    return PIP.sub(f"'{package}{beside & limits}' (for {build.name})", way)


def installed_release(match: MessageMatch, target: Target | None) -> Build | None:
    """The release of the target, or the only one that the text around a message names."""
    if target is not None and target.build is not None:
        return target.build
    named = {known.first for known in match.circumstances.versions(STOCK) if known.first == known.last}
    if len(named) != 1:
        return None
    version = ".".join(map(str, named.pop()))
    return next((b for b in reversed(on_x86(atlas(), STOCK)) if _is_patch_of(b, version)), None)


def _beside(build: Build, package: str) -> VersionLimits | None:
    """The versions of a package for a release: those it requires, or the one that declares support."""
    if limits := versions_beside(build.facts, package):
        return limits
    fitting = fitting_version(package, build.version, (build.facts.get("uploaded") or "")[:10])
    return VersionLimits(fitting.version, fitting.version, includes_end=True) if fitting else None


def _with_versions_for_any(way: str, package: str, limits: VersionLimits) -> str:
    """The same if the release is unknown, with the limits of the row."""
    others = [
        build.number
        for build in _newest_patches()
        if (required := _requirement(build.facts, package)) and (limits_of(required) & limits).is_empty
    ]
    releases = [
        minor if (minor := _minor(span.first)) == (last := _minor(span.last)) else f"{minor} to {last}"
        for span in spans(_newest_patches(), others)
    ]
    note = f" (not for TensorFlow {', '.join(releases)}, which need another {package})" if releases else ""
    return PIP.sub(f"'{package}{limits}'", way) + note


@functools.cache
def _newest_patches() -> tuple[Build, ...]:
    """The newest patch of each minor release."""
    return tuple({_minor(build.version): build for build in on_x86(atlas(), STOCK)}.values())


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _choose(package: str, match: MessageMatch) -> str:
    """What the newest releases need; only those with wheels for the Python that the text tells."""
    pythons = {".".join(map(str, known.first)) for known in match.circumstances.versions("python")}
    choices = [
        f"{package}{limits} for {_minor(build.version)}"
        for build in reversed(_newest_patches())
        if (len(pythons) != 1 or pythons <= set(build.facts.get("pythons") or ()))
        and (limits := _beside(build, package))
    ]
    known = f": {', '.join(choices[:MOST_CHOICES])}" if choices else ""
    return f"install the {package} that fits your TensorFlow{known}"


def _allows(package: str, version: str) -> Callable[[Facts], bool]:
    date = uploaded(package, version) if package in TRIED_MAJORS else ""

    def holds(facts: Facts) -> bool:
        required = _requirement(facts, package)
        return required is not None and version in required and (facts.get("uploaded") or "") >= date

    return holds


def protobuf(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases allow each generation of protobuf."""
    return _releases_allowing("protobuf", ("3.19.6", "4.22.0", "5.26.0", "6.30.0"), target)


def numpy(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases allow NumPy 1 and NumPy 2."""
    return _releases_allowing("numpy", ("1.26.0", "2.0.0"), target)


def keras_3(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases allow Keras 3."""
    return _releases_allowing("keras", (NEWEST_KERAS,), target)


def own_keras(match: MessageMatch, target: Target | None) -> Meaning:
    """Which Keras each release requires: its own number, Keras 3, or none."""
    classes = {
        "the keras with its own version number": lambda facts: _requires_keras(facts, newest=False),
        "Keras 3": lambda facts: _requires_keras(facts, newest=True),
    }
    facts = [f"TensorFlow requires {keras}: {releases_with(holds)}." for keras, holds in classes.items()]
    build = target.build if target else None
    required = _requirement(build.facts, "keras") if build else None
    if build is None or required is None:
        return Meaning(facts)
    return Meaning(facts, [f"pip install 'keras{required}'"], [f"{build.name} requires keras{required}"])


def _requires_keras(facts: Facts, *, newest: bool) -> bool:
    required = _requirement(facts, "keras")
    return required is not None and (NEWEST_KERAS in required) is newest


OF_32_BITS = re.compile(r"\bi[3-6]86\b|\[MSC v\.\d{4} 32 bit|\barmv[67]l\b")
"""What shows a 32-bit system or Python."""


def release_for_python(match: MessageMatch, target: Target | None) -> Meaning | None:
    """The Pythons for which a release has wheels; None if the atlas does not record the package."""
    package = match.names.get("package", STOCK).lower().replace("_", "-")
    if package not in atlas().packages():
        return None
    version = match.names.get("version")
    if version and (suffix := PRERELEASE.match(match.text[len(match.quote) :])):
        return Meaning(
            [f"{package} {version}{suffix[0]} is a pre-release, and pip does not find it for this Python."],
            [f"install the final release: `pip install {package}=={version}`; upgrade pip first"],
        )
    recorded = on_x86(atlas(), package)
    limits = _limits(match.text)
    exact = limits.startswith("==") and "," not in limits
    builds = [
        build
        for build in recorded
        if not limits or (_is_patch_of(build, limits[2:]) if exact else build.version in SpecifierSet(limits))
    ]
    if not builds:
        newest, asked = recorded[-1].version, limits.removeprefix("==") if exact else limits
        return Meaning([f"No {package} {asked} is recorded; the newest is {newest}."])
    newest_by_pythons = {", ".join(build.facts.get("pythons") or []): build.version for build in builds}
    by_version = sorted(newest_by_pythons.items(), key=lambda item: version_key(item[1]))
    facts = [f"{package} {v} has wheels for Python {p}." for p, v in by_version[-MOST_RELEASES:] if p]
    if offered := OFFERED.search(match.text):
        versions = sorted(offered[1].split(", "), key=version_key)
        facts.append(f"For this Python and system pip finds {versions[0]} to {versions[-1]}.")
    if bits := OF_32_BITS.search(match.before + match.text):
        return Meaning(
            [f"The text shows a 32-bit system or Python ({bits[0]}); {package} has 64-bit wheels only."],
            ["use a 64-bit system and Python; on 32-bit ARM boards, tflite-runtime or a wheel of piwheels"],
        )
    if NO_WHEELS in match.text:
        facts.append(
            "pip lists no version at all: this Python is 32-bit, older or newer than any wheel, on "
            "Alpine Linux (musl), or on a machine that has no wheels. Apple silicon has wheels since "
            "2.13.0; before "
            "that, the package is tensorflow-macos (2.5.0 to 2.16.2)."
        )
    ways = (
        [
            "use one of these Pythons, 64-bit, or a version in the message: wheels for Intel Macs and "
            "32-bit systems end earlier, those for new Pythons begin later"
        ]
        if facts
        else []
    )
    return Meaning(facts, [*ways, "upgrade pip first: an old one does not see wheels of newer formats"])


def _limits(text: str) -> str:
    """The versions that a message of pip asks for, as `<2.2,>=2.0`; empty without valid ones."""
    asked = REQUIREMENT.search(text)
    limits = asked[1].replace(" ", "") if asked else ""
    try:
        SpecifierSet(limits)
    except InvalidSpecifier:
        return ""
    return limits


def _is_patch_of(build: Build, version: str) -> bool:
    """Whether a build is the version or one of its patches: 2.1.4 is one of 2.1, 2.18.0 is not."""
    return build.version == version or build.version.startswith(f"{version}.")
