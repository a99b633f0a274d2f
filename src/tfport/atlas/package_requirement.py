"""A package and its accepted versions, and lists of them.

Versions are kept as text. `packaging` is slow to import, and a target such as `tensorflow==2.8.4`
does not need it: only ranges are evaluated with it. `requirements` parses every form that pip accepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tfport.atlas.package_names import canonical_name
from tfport.startup.dataclass import dataclass, field
from tfport.startup.late_pattern import late_pattern

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

PIN = late_pattern(r"={2,3}([^,]+)(?<!\.\*)")
EXACT = late_pattern(r"([A-Za-z0-9](?:[\w.-]{0,99}[A-Za-z0-9])?)(==\d{1,9}(?:\.\d{1,9}){0,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class PackageRequirement:
    """A package and its accepted versions."""

    package: str
    limits: str = ""
    """The accepted versions: `<2.9,>=2.4`; empty if all are."""
    extras: frozenset[str] = frozenset()

    @property
    def versions(self) -> SpecifierSet:
        from packaging.specifiers import SpecifierSet

        return SpecifierSet(self.limits)

    @property
    def pin(self) -> str | None:
        """The exact version, if there is one."""
        exact = PIN.fullmatch(self.limits)
        return exact[1] if exact else None

    @property
    def release(self) -> str:
        """The exact version, the start of it (`11.2` of `==11.2.*`), or the oldest accepted version."""
        limits = {limit.operator: limit.version for limit in self.versions}
        exact = limits.get("==") or limits.get("===") or limits.get("~=") or limits.get(">=") or ""
        return exact.removesuffix(".*")

    @property
    def text(self) -> str:
        return f"{self.package}{self.limits}"


@dataclass
class PackageList:
    """The packages of a file, a folder or a text."""

    wanted: list[PackageRequirement] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    platform: str = ""
    """The machine it is for, if known; the default is x86-64."""
    python: str = ""
    """The Python version it is for, if known."""
    device: str = ""
    """`gpu` if it is made for GPUs."""
    cuda: dict[str, str] = field(default_factory=dict)
    """The versions of `cudart` and `cudnn` that are not among the packages."""
    unknown: str = ""
    """Why its TensorFlow is unknown, if it has one that nothing names."""

    def add(self, other: PackageList) -> None:
        self.wanted += other.wanted
        self.notes += other.notes
        self.platform = other.platform or self.platform
        self.python = other.python or self.python
        self.device = other.device or self.device
        self.cuda |= other.cuda
        self.unknown = other.unknown or self.unknown


def exact_requirement(text: str) -> PackageRequirement | None:
    """Parse a requirement of one plain version, such as `tensorflow==2.8.4`; None for any other text."""
    exact = EXACT.fullmatch(text)
    return PackageRequirement(canonical_name(exact[1]), exact[2]) if exact else None


def merged_requirements(
    wanted: Iterable[PackageRequirement], packages: Iterable[str]
) -> list[PackageRequirement]:
    """Return the requirements of some packages, merged so that each package occurs once."""
    names, merged = set(packages), dict[str, PackageRequirement]()
    for requirement in wanted:
        if requirement.package in names:
            before = merged.get(requirement.package)
            both = (
                requirement
                if before is None
                else PackageRequirement(
                    requirement.package,
                    str(before.versions & requirement.versions),
                    before.extras | requirement.extras,
                )
            )
            merged[requirement.package] = both
    return list(merged.values())
