"""Texts of targets that begin as someone types: for completion.

What is typed may be a package (`tensorf`), a package with the begin of a release (`tensorflow==2.`), or what
people say instead (`2.8`, `tf 1.15`, `serving 2.8`, `keras 2`). The newest releases come first.
"""

from __future__ import annotations

import re
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
from tfport.atlas.target_text import SHORT_NAMES, spelled_out
from tfport.atlas.versions import version_key
from tfport.startup.dataclass import dataclass

MOST = 50
OWN = "tfport"
OPERATOR = re.compile(r"\s*==\s*")
LITE_FILE, SAVED_MODEL = "lite", "saved_model"
KERAS_FILES = "keras"


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


def target_suggestions(
    prefix: str, format_key: str | None = None, most: int = MOST
) -> list[TargetSuggestion]:
    """The targets that begin with a text and read a format; without a release, one of each package first."""
    typed = OPERATOR.sub("==", prefix.strip().lower().replace("_", "-")).split()
    text = "".join(spelled_out(typed))
    matches = [
        s
        for s in all_targets()
        if (s.requirement.startswith(text) or text in s.package or _says(s, typed))
        and (format_key is None or reads(s.kind, format_key))
    ]
    if "=" not in text:
        newest = {s.package: s for s in reversed(matches)}
        firsts = list(reversed(newest.values()))
        matches = [*firsts, *(s for s in matches if s not in firsts)]
    return matches[:most]


def _says(suggestion: TargetSuggestion, typed: list[str]) -> bool:
    """Whether what was typed is a package, or begins the name that people use for one."""
    if len(typed) != 1:
        return False
    names = (short for short, package in SHORT_NAMES.items() if package == suggestion.package)
    return typed[0] in suggestion.package or any(name.startswith(typed[0]) for name in names)


def reads(kind: str, format_key: str) -> bool:
    """Whether a kind of runtime reads models of a format at all."""
    if kind == "lite":
        return format_key == LITE_FILE
    if kind == "keras":
        return format_key.startswith(KERAS_FILES) or format_key == SAVED_MODEL
    if kind == "serving":
        return format_key == SAVED_MODEL
    return kind != "converter" or format_key != LITE_FILE


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
