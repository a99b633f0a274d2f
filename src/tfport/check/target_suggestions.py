"""Texts of targets that begin as someone types: for completion.

What is typed may be a package (`tensorf`), or a package with the begin of a release (`tensorflow==2.`).
The newest releases come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from tfport.atlas import choose_builds
from tfport.atlas.atlas import atlas
from tfport.atlas.keras_releases import PACKAGES as KERAS_PACKAGES
from tfport.atlas.keras_releases import keras_releases
from tfport.atlas.lite.converter import PACKAGE as CONVERTER
from tfport.atlas.lite.converter import converter_releases
from tfport.atlas.lite.releases import PACKAGES as LITE_PACKAGES
from tfport.atlas.lite.releases import lite_versions
from tfport.atlas.versions import version_key
from tfport.startup.dataclass import dataclass

MOST = 50
OWN = "tfport"


@dataclass(frozen=True, slots=True)
class TargetSuggestion:
    """A target, what kind of runtime it is, and a word about it."""

    requirement: str
    kind: str
    note: str = ""

    @property
    def package(self) -> str:
        return self.requirement.partition("==")[0]

    def to_json(self) -> dict[str, Any]:
        return {"requirement": self.requirement, "kind": self.kind, "note": self.note}


def target_suggestions(prefix: str, most: int = MOST) -> list[TargetSuggestion]:
    """The targets that begin with a text; for a text without a release, one for each package first."""
    text = prefix.strip().lower().replace("_", "-").replace(" ", "")
    matches = [
        s for s in all_targets() if s.requirement.startswith(text) or text in s.requirement.partition("==")[0]
    ]
    if "=" not in text:
        newest = {s.package: s for s in reversed(matches)}
        firsts = list(reversed(newest.values()))
        matches = [*firsts, *(s for s in matches if s not in firsts)]
    return matches[:most]


@cache
def all_targets() -> list[TargetSuggestion]:
    """Every target with a release, the newest of a package first."""
    return list(_suggestions())


def _suggestions() -> Iterator[TargetSuggestion]:
    known = atlas()
    yield from _releases("tensorflow", [b.version for b in known.builds("tensorflow")], "tensorflow")
    gpu = [b.version for b in known.builds("tensorflow-gpu")]
    yield from _releases("tensorflow-gpu", gpu, "tensorflow", "a build of its own, for GPUs")
    yield from _releases("tensorflow-serving", choose_builds.releases(known), "serving")
    for package in KERAS_PACKAGES:
        yield from _releases(
            package, [r.version for r in keras_releases(package)], "keras", "for Keras files"
        )
    for package in LITE_PACKAGES:
        yield from _releases(package, lite_versions(package), "lite", "for TensorFlow Lite files")
    yield from _releases(CONVERTER, converter_releases(), "converter", "the converter to TensorFlow Lite")
    yield TargetSuggestion(OWN, OWN, "tfport's own runtime")


def _releases(package: str, versions: Any, kind: str, note: str = "") -> Iterator[TargetSuggestion]:
    for version in sorted(set(versions), key=version_key, reverse=True):
        yield TargetSuggestion(f"{package}=={version}", kind, note)
