"""Which recorded builds does a requirement mean?

What a person types is read kindly (`tensorflow==2.8` is its newest patch, a range is
each release in it); what a file lists is read as pip does, a range as its newest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from tfport.atlas import serving_releases
from tfport.atlas.atlas import ARM, X86, Atlas, Build
from tfport.atlas.package_names import SERVING_PACKAGES, TENSORFLOW_PACKAGES
from tfport.atlas.requirements import PackageRequirement
from tfport.atlas.versions import version_key
from tfport.errors import Error

FULL = 3
"""The numbers of a whole release: 2.8.4."""


@dataclass
class ChosenBuild:
    """A build that was chosen for a package."""

    package: str
    version: str
    build: Build
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        suffix = "" if self.build.platform != ARM else f" ({ARM})"
        return f"{self.package} {self.version}{suffix}"

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


def choose_tensorflow(
    wanted: PackageRequirement, *, typed: bool, atlas: Atlas, platform: str = X86
) -> list[ChosenBuild]:
    """The builds of TensorFlow that are meant; an error that says what is recorded if there is none."""
    flavour = TENSORFLOW_PACKAGES[wanted.package]
    platform = ARM if ARM in (platform, flavour.platform) else X86
    own = {b.version: b for b in builds(atlas, wanted.package, platform)}
    stock = builds(atlas, "tensorflow", platform)
    first, last = version_key(flavour.first), version_key(flavour.last)
    others = {b.version: b for b in stock if first <= version_key(b.version) <= last}
    there = {**others, **own}
    versions, notes = choose_versions(wanted, sorted(there, key=version_key), typed=typed)
    chosen = [ChosenBuild(wanted.package, v, there[v], list(notes)) for v in versions]
    for choice in chosen:
        if choice.version not in own:
            choice.notes.append(
                f"{choice.package} is {flavour.what}: taken from tensorflow {choice.version}, as recorded"
            )
    return chosen


def builds(atlas: Atlas, package: str, platform: str) -> list[Build]:
    """The builds for a platform; for ARM64, those of x86-64 where its own registry is not recorded."""
    found = {b.version: b for b in atlas.builds(package, X86)}
    if platform == ARM:
        found |= {b.version: b for b in atlas.builds(package, ARM)}
    return list(found.values())


def choose_serving(
    wanted: PackageRequirement, *, typed: bool, atlas: Atlas, gpu: bool
) -> list[tuple[str, ChosenBuild]]:
    """The releases of Serving that are meant, each with the build of TensorFlow in it."""
    gpu = gpu or SERVING_PACKAGES[wanted.package] == "gpu"
    package = "tensorflow-gpu" if gpu and atlas.builds("tensorflow-gpu") else "tensorflow"
    versions, notes = choose_versions(wanted, serving_releases.releases(atlas), typed=typed)
    chosen = []
    for version in versions:
        build = atlas.find(package, version) or atlas.find("tensorflow", version)
        patch = build or newest_patch(version, atlas.builds("tensorflow"))
        if patch is None:
            raise not_recorded(
                PackageRequirement("tensorflow", SpecifierSet(f"=={version}")), recorded(atlas, "tensorflow")
            )
        more = [] if build else [f"tensorflow {version} is not recorded: taken from {patch.version}"]
        chosen.append((version, ChosenBuild(patch.package, patch.version, patch, [*notes, *more])))
    return chosen


def newest_patch(version: str, among: Iterable[Build]) -> Build | None:
    """The newest patch of the same minor release."""
    wanted = version_key(version).release[:2]
    same = [build for build in among if version_key(build.version).release[:2] == wanted]
    return max(same, key=lambda build: version_key(build.version), default=None)


def choose_versions(
    wanted: PackageRequirement, there: Sequence[str], *, typed: bool
) -> tuple[list[str], list[str]]:
    """The versions that are meant, among those recorded, the oldest first; and what to note."""
    if not there:
        raise Error(f"{wanted.package} is not recorded")
    if not list(wanted.versions):
        return [there[-1]], [] if typed else [newest_note(wanted, there[-1])]
    if wanted.pin is not None:
        return choose_pin(wanted, wanted.pin, there, typed=typed)
    matching = [version for version in there if wanted.versions.contains(version, prereleases=True)]
    if not matching:
        raise not_recorded(wanted, there)
    return (matching, []) if typed else ([matching[-1]], [newest_note(wanted, matching[-1])])


def newest_note(wanted: PackageRequirement, version: str) -> str:
    return f"{wanted.text}: {version} is the newest that is recorded"


def choose_pin(
    wanted: PackageRequirement, pin: str, there: Sequence[str], *, typed: bool
) -> tuple[list[str], list[str]]:
    asked = version_key(pin)
    if typed and is_short(asked):
        begins = [v for v in there if version_key(v).release[: len(asked.release)] == asked.release]
        if begins:
            return [begins[-1]], []
    same = [v for v in there if version_key(v) == asked]
    if not same and (asked.local or asked.post is not None):
        same = [v for v in there if version_key(v) == version_key(asked.base_version)]
        if same and not asked.is_prerelease:
            return same, [f"{wanted.package} {pin} is not recorded: taken from {same[0]}"]
        same = []
    if not same:
        raise not_recorded(wanted, there)
    return same, []


def is_short(version: Version) -> bool:
    plain = not (version.pre or version.dev is not None or version.post is not None or version.local)
    return plain and len(version.release) < FULL


def recorded(atlas: Atlas, package: str) -> list[str]:
    return [build.version for build in atlas.builds(package)]


def not_recorded(wanted: PackageRequirement, there: Sequence[str]) -> Error:
    """A sentence with the nearest neighbours of a release, and all that is there."""
    extent = f"recorded are {there[0]} to {there[-1]}" if len(there) > 1 else f"recorded is {there[0]}"
    if wanted.pin is None:
        return Error(f"no recorded release of {wanted.package} is {wanted.versions}; {extent}")
    asked = version_key(wanted.pin)
    before = [v for v in there if version_key(v) < asked][-1:]
    after = [v for v in there if version_key(v) > asked][:1]
    near = " and ".join(before + after)
    return Error(f"{wanted.package} {wanted.pin} is not recorded; nearest to it: {near}; {extent}")


def choose_addon(wanted: PackageRequirement, tensorflow: Build, atlas: Atlas) -> ChosenBuild | None:
    """The build of an add-on that is meant, or the nearest to it; None if there is none at all."""
    there = addon_builds(atlas, wanted.package)
    if not there:
        return None
    matching = [b for b in there if wanted.versions.contains(b.version, prereleases=True)]
    if wanted.pin is None:
        suit = [b for b in matching if suits(b, tensorflow)] or matching
        if not suit:
            raise not_recorded(wanted, [b.version for b in there])
        return ChosenBuild(
            wanted.package, suit[-1].version, suit[-1], [newest_note(wanted, suit[-1].version)]
        )
    build = matching[0] if matching else nearest(version_key(wanted.pin), there)
    notes = [] if matching else [f"{wanted.package} {wanted.pin} is not recorded: taken from {build.version}"]
    if not suits(build, tensorflow):
        asks = f"{build.package} {build.version} asks for tensorflow{build.facts['requires_tensorflow']}"
        notes.append(f"{asks}, so it may not load into {tensorflow.name}")
    return ChosenBuild(wanted.package, build.version, build, notes)


def addon_builds(atlas: Atlas, package: str) -> list[Build]:
    """The builds of an add-on, one for each version, the oldest first; its platform is told in many ways."""
    found = {b.version: b for b in atlas.builds(package, None) if ARM not in b.platform}
    return sorted(found.values(), key=lambda build: version_key(build.version))


def nearest(version: Version, there: Sequence[Build]) -> Build:
    """The build that shares most numbers with a version; of those, the closest below it, or above."""

    def distance(build: Build) -> tuple[bool, bool, list[int]]:
        other = version_key(build.version)
        apart = [abs(a - b) for a, b in zip(version.release, other.release, strict=False)]
        return version.release[:2] != other.release[:2], other > version, apart

    return min(there, key=distance)


def suits(addon: Build, tensorflow: Build) -> bool:
    """Whether an add-on says that it goes with a release; one that says nothing does."""
    asks = addon.facts.get("requires_tensorflow")
    try:
        return not isinstance(asks, str) or SpecifierSet(asks).contains(tensorflow.version, prereleases=True)
    except InvalidSpecifier:
        return True
