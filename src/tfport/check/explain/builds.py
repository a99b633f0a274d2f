"""What is recorded about what releases want beside them: GLIBC, Python, NumPy, protobuf, Keras."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

from tfport.atlas.atlas import atlas
from tfport.atlas.spans import STOCK, on_x86, spans, spans_text
from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.check.explain.lookup import Meaning, MessageMatch

GPU_PACKAGE = "tensorflow-gpu"
FLOORS = {"GLIBC": "glibc", "GLIBCXX": "glibcxx", "CXXABI": "cxxabi"}
Facts = dict[str, Any]


def releases_with(holds: Callable[[Facts], bool]) -> str:
    """The releases of TensorFlow that were built so; of the package for GPUs, only what it has beyond."""
    stock = on_x86(atlas(), STOCK)
    having = {build.number for build in stock if holds(build.facts)}
    versions = {build.version for build in stock if build.number in having}
    others = [build for build in on_x86(atlas(), GPU_PACKAGE) if build.version not in versions]
    gpu = {build.number for build in others if holds(build.facts)}
    found = {STOCK: spans(stock, having), GPU_PACKAGE: spans(others, gpu)}
    return " and ".join(f"{name} {spans_text(releases)}" for name, releases in found.items() if releases)


def floor(said: MessageMatch, target: Target | None) -> Meaning | None:
    fact = FLOORS.get(said.names["floor"])
    if fact is None:
        return None
    wanted = version_key(said.names["version"])
    older = releases_with(lambda facts: bool(facts.get(fact)) and version_key(facts[fact]) < wanted)
    name = said.names["floor"]
    facts = [f"Content with an older {name}: {older}."] if older else []
    build = target.build if target else None
    on_target = [f"{build.name} wants {name} {build.facts[fact]}"] if build and build.facts.get(fact) else []
    return Meaning(facts, on_target=on_target)


def _requirement(facts: Facts, package: str) -> SpecifierSet | None:
    """What a release asks of a package; None where it does not ask for it."""
    for text in facts.get("requires") or []:
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            continue
        if wanted.name.lower() == package and "extra" not in str(wanted.marker):
            return wanted.specifier
    return None


def _versions_of(package: str, versions: Mapping[str, str], target: Target | None) -> Meaning:
    """Which releases allow versions of a package, each with the day of its own; what the target asks for.

    A release that sets no limit did not try what came after it.
    """
    having = {version: releases_with(_allows(package, version, day)) for version, day in versions.items()}
    facts = [f"Releases that allow {package} {v}: {found}." for v, found in having.items() if found]
    build = target.build if target else None
    wanted = _requirement(build.facts, package) if build else None
    if build is None or wanted is None:
        return Meaning(facts)
    return Meaning(facts, [f"pip install '{package}{wanted}'"], [f"{build.name} asks for {package}{wanted}"])


def _allows(package: str, version: str, day: str) -> Callable[[Facts], bool]:
    def holds(facts: Facts) -> bool:
        wanted = _requirement(facts, package)
        return wanted is not None and version in wanted and (facts.get("uploaded") or "") >= day

    return holds


def protobuf(said: MessageMatch, target: Target | None) -> Meaning:
    days = {"3.19.6": "", "4.22.0": "2023-02-16", "5.26.0": "2024-03-13", "6.30.0": "2025-03-04"}
    return _versions_of("protobuf", days, target)


def numpy(said: MessageMatch, target: Target | None) -> Meaning:
    return _versions_of("numpy", {"1.26.0": "2023-09-16", "2.0.0": "2024-06-16"}, target)


def keras_3(said: MessageMatch, target: Target | None) -> Meaning:
    return _versions_of("keras", {"3.12.0": ""}, target)


def release_for_python(said: MessageMatch, target: Target | None) -> Meaning | None:
    package = said.names.get("package", STOCK).lower().replace("_", "-")
    if package not in atlas().packages():
        return None
    version = said.names.get("version")
    builds = [b for b in on_x86(atlas(), package) if version is None or b.version.startswith(version)]
    if not builds:
        near = on_x86(atlas(), package)[-1].version
        return Meaning([f"No {package} {version} is recorded; the newest is {near}."])
    pythons = {build.version: ", ".join(build.facts.get("pythons") or []) for build in builds[-3:]}
    facts = [f"{package} {v} has wheels for Python {p}." for v, p in pythons.items() if p]
    return Meaning(facts, ["use one of these Pythons, 64 bits, on Linux, macOS or Windows"] if facts else [])
