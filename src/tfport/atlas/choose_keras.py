"""Choose the releases of Keras that a requirement refers to."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.atlas.choose_builds import choose_versions
from tfport.atlas.keras_releases import (
    KERAS,
    PACKAGES,
    RE_EXPORTED,
    TF_KERAS,
    KerasRelease,
    keras_of_tensorflow,
    keras_releases,
)
from tfport.atlas.package_requirement import PackageRequirement, merged_requirements
from tfport.atlas.versions import version_key
from tfport.startup.dataclass import dataclass, field

RE_EXPORTS = ("2.4.0", "2.4.1", "2.4.2", "2.4.3")
"""The releases of keras that only re-export the Keras of TensorFlow."""


@dataclass(frozen=True)
class ChosenKeras:
    """A release of Keras, under the name that a requirement has for it."""

    package: str
    version: str
    release: KerasRelease
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.package} {self.version}"

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


def keras_requirements(wanted: Sequence[PackageRequirement]) -> list[PackageRequirement]:
    """The requirements for packages that contain a Keras, each package once; keras before tf-keras."""
    merged = merged_requirements(wanted, PACKAGES)
    return sorted(merged, key=lambda requirement: PACKAGES.index(requirement.package))


def choose_keras(wanted: PackageRequirement, *, typed: bool) -> list[ChosenKeras]:
    """The releases of Keras that a requirement refers to; an error if there is none."""
    by_version = {release.version: release for release in keras_releases(wanted.package)}
    if wanted.package == KERAS and (stand_in := keras_of_tensorflow(RE_EXPORTED)) is not None:
        by_version |= dict.fromkeys(RE_EXPORTS, stand_in)
    versions, notes = choose_versions(wanted, sorted(by_version, key=version_key), typed=typed)
    return [
        ChosenKeras(wanted.package, v, by_version[v], [*notes, *_notes(wanted.package, v)]) for v in versions
    ]


def legacy_note(wanted: Sequence[PackageRequirement]) -> list[str]:
    """A note about tf-keras beside another Keras, which loads the model unless a variable is set."""
    for requirement in wanted:
        if requirement.package == TF_KERAS:
            return [
                f"{requirement.text} is listed too: with TF_USE_LEGACY_KERAS=1 it loads the model instead; "
                f"`--on {requirement.text}` checks that"
            ]
    return []


def _notes(package: str, version: str) -> list[str]:
    if package == KERAS and version in RE_EXPORTS:
        stand_in = keras_of_tensorflow(RE_EXPORTED)
        assert stand_in is not None
        return [f"keras {version} only re-exports the Keras of TensorFlow: {stand_in.name} is used"]
    return []
