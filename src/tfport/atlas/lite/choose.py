"""Choose the TensorFlow Lite interpreters that a requirement refers to."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.atlas.choose_builds import choose_versions
from tfport.atlas.lite.registry import LiteRegistry
from tfport.atlas.lite.releases import PACKAGES, lite_release, lite_versions
from tfport.atlas.package_requirement import PackageRequirement, merged_requirements
from tfport.startup.dataclass import dataclass, field


@dataclass(frozen=True)
class ChosenLite:
    """A release of an interpreter."""

    registry: LiteRegistry
    notes: list[str] = field(default_factory=list)
    path: str = ""
    """The file of a build of one's own."""

    @property
    def name(self) -> str:
        return self.registry.name

    @property
    def requirement(self) -> str:
        return self.path or f"{self.registry.package}=={self.registry.version}"


def lite_requirements(wanted: Sequence[PackageRequirement]) -> list[PackageRequirement]:
    """The requirements for interpreters, each package once."""
    merged = merged_requirements(wanted, PACKAGES)
    return sorted(merged, key=lambda requirement: PACKAGES.index(requirement.package))


def choose_lite(wanted: PackageRequirement, *, typed: bool) -> list[ChosenLite]:
    """The interpreters that a requirement refers to; an error if there is none."""
    versions, notes = choose_versions(wanted, list(lite_versions(wanted.package)), typed=typed)
    registries = (lite_release(wanted.package, version) for version in versions)
    return [ChosenLite(registry, list(notes)) for registry in registries if registry is not None]
