"""Look up what releases require around them: GLIBC, Python, NumPy, protobuf, Keras."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from tfport.atlas.atlas import Build, atlas
from tfport.atlas.package_dates import UPLOADED
from tfport.atlas.release_spans import STOCK, on_x86, spans, spans_text
from tfport.atlas.requirements import declared_requirement
from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.explain.lookup import Meaning, MessageMatch

GPU_PACKAGE = "tensorflow-gpu"
FLOORS = {"GLIBC": "glibc", "GLIBCXX": "glibcxx", "CXXABI": "cxxabi"}
CPP = ("glibcxx", "cxxabi")
STANDARD_LIBRARY = [
    "install a newer libstdc++ (in conda: `conda install -c conda-forge libstdcxx-ng`); "
    "the path in the message shows which one was used",
]
MOST_RELEASES = 3
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
    return " and ".join(f"{name} {spans_text(releases)}" for name, releases in by_package.items() if releases)


def floor(match: MessageMatch, target: Target | None) -> Meaning | None:
    """Which releases need an older GLIBC, GLIBCXX or CXXABI than the message names."""
    fact = FLOORS.get(match.names["floor"])
    if fact is None:
        return None
    required = version_key(match.names["version"])
    older = releases_with(lambda facts: bool(facts.get(fact)) and version_key(facts[fact]) < required)
    name = match.names["floor"]
    facts = [f"Releases that need only an older {name}: {older}."] if older else []
    build = target.build if target else None
    on_target = [f"{build.name} needs {name} {build.facts[fact]}"] if build and build.facts.get(fact) else []
    return Meaning(facts, STANDARD_LIBRARY if fact in CPP else [], on_target)


def _requirement(facts: Facts, package: str) -> SpecifierSet | None:
    """The versions of a package that a release requires; None if it does not require the package."""
    for text in facts.get("requires") or []:
        requirement = declared_requirement(text)
        if requirement and requirement.name.lower() == package and "extra" not in str(requirement.marker):
            return requirement.specifier
    return None


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


def _allows(package: str, version: str) -> Callable[[Facts], bool]:
    date = UPLOADED[package].get(version, "")

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
        "the keras of its own number": lambda facts: _requires_keras(facts, newest=False),
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
    if NO_WHEELS in match.text:
        facts.append(
            "pip lists no version at all: this Python is 32-bit, older or newer than any wheel, of Alpine "
            "Linux (musl), or of a machine without wheels. Apple silicon has wheels since 2.13.0; before "
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
