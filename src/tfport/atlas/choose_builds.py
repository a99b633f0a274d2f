"""Choose the recorded builds that a requirement refers to, also those of TensorFlow Serving.

A typed requirement is read leniently (`tensorflow==2.8` is its newest patch, a range is
each of its releases); one from a file is read as pip does (a range is its newest release).
Serving's releases and the add-ons linked into each come from its sources at the tag of each
release (SUPPORTED_TENSORFLOW_OPS in model_servers/BUILD, and workspace.bzl); its binaries
were not examined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfport.atlas.atlas import ARM, X86, Atlas, Build
from tfport.atlas.package_requirement import SERVING_PACKAGES, TENSORFLOW_PACKAGES, PackageRequirement
from tfport.atlas.versions import ReleaseKey, version_key
from tfport.errors import Error
from tfport.startup.dataclass import dataclass, field

FULL = 3
"""How many numbers a complete release has: 2.8.4."""


@dataclass
class ChosenBuild:
    """The build chosen for a package."""

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
    wanted: PackageRequirement, *, typed: bool, atlas: Atlas, platform: str = X86, python: str = ""
) -> list[ChosenBuild]:
    """Return the TensorFlow builds that a requirement refers to; raise an error if there is none.

    `python` is the Python version that pip would choose a release for, if it is known.
    """
    package = TENSORFLOW_PACKAGES[wanted.package]
    platform = ARM if ARM in (platform, package.platform) else X86
    own = {b.version: b for b in builds(atlas, wanted.package, platform)}
    stock = builds(atlas, "tensorflow", platform)
    first, last = version_key(package.first), version_key(package.last)
    others = {b.version: b for b in stock if first <= version_key(b.version) <= last}
    available = {**others, **own}
    if wanted.pin is None and (fitting := {v: b for v, b in available.items() if _has_wheel(b, python)}):
        available = fitting
    versions, notes = choose_versions(wanted, sorted(available, key=version_key), typed=typed)
    chosen = [ChosenBuild(wanted.package, v, available[v], list(notes)) for v in versions]
    for choice in chosen:
        if choice.version not in own:
            choice.notes.append(
                f"{choice.package} is {package.what}: tensorflow {choice.version} is used instead"
            )
    return chosen


def _has_wheel(build: Build, python: str) -> bool:
    pythons = build.facts.get("pythons") or []
    return not python or not pythons or python in pythons


def builds(atlas: Atlas, package: str, platform: str) -> list[Build]:
    """Return the builds for a platform; for ARM64, x86-64 builds replace those that are not recorded."""
    by_version = {b.version: b for b in atlas.builds(package, X86)}
    if platform == ARM:
        by_version |= {b.version: b for b in atlas.builds(package, ARM)}
    return list(by_version.values())


def choose_serving(
    wanted: PackageRequirement, *, typed: bool, atlas: Atlas, gpu: bool
) -> list[tuple[str, ChosenBuild]]:
    """Return the releases of Serving that a requirement refers to, each with its TensorFlow build."""
    gpu = gpu or SERVING_PACKAGES[wanted.package] == "gpu"
    package = "tensorflow-gpu" if gpu and atlas.builds("tensorflow-gpu") else "tensorflow"
    versions, notes = choose_versions(wanted, releases(atlas), typed=typed)
    chosen = []
    for version in versions:
        build = atlas.find(package, version) or atlas.find("tensorflow", version)
        patch = build or newest_patch(version, atlas.builds("tensorflow"))
        if patch is None:
            raise not_recorded(
                PackageRequirement("tensorflow", f"=={version}"), recorded(atlas, "tensorflow")
            )
        more = [] if build else [f"tensorflow {version} is not recorded: {patch.version} is used instead"]
        chosen.append((version, ChosenBuild(patch.package, patch.version, patch, [*notes, *more])))
    return chosen


def newest_patch(version: str, among: Iterable[Build]) -> Build | None:
    """Return the newest patch of the same minor release, or None."""
    wanted = version_key(version).release[:2]
    same = [build for build in among if version_key(build.version).release[:2] == wanted]
    return max(same, key=lambda build: version_key(build.version), default=None)


def choose_versions(
    wanted: PackageRequirement, available: Sequence[str], *, typed: bool
) -> tuple[list[str], list[str]]:
    """Return the matching recorded versions, the oldest first, and notes about the choice."""
    if not available:
        raise Error(f"{wanted.package} is not recorded; `tfport targets` lists what is")
    if not wanted.limits:
        return [available[-1]], [] if typed else [newest_note(wanted, available[-1])]
    if wanted.pin is not None:
        return choose_pin(wanted, wanted.pin, available, typed=typed)
    matching = [version for version in available if wanted.versions.contains(version, prereleases=True)]
    if not matching:
        raise not_recorded(wanted, available)
    return (matching, []) if typed else ([matching[-1]], [newest_note(wanted, matching[-1])])


def newest_note(wanted: PackageRequirement, version: str) -> str:
    return f"{wanted.text}: {version} is the newest recorded release"


def choose_pin(
    wanted: PackageRequirement, pin: str, available: Sequence[str], *, typed: bool
) -> tuple[list[str], list[str]]:
    asked = version_key(pin)
    if typed and is_short(asked):
        begins = [v for v in available if version_key(v).release[: len(asked.release)] == asked.release]
        if begins:
            return [begins[-1]], []
    same = [v for v in available if version_key(v) == asked]
    if not same and asked.is_later_build:
        same = [v for v in available if version_key(v) == asked.base]
        if same and not asked.is_prerelease:
            return same, [f"{wanted.package} {pin} is not recorded: {same[0]} is used instead"]
        same = []
    if not same:
        raise not_recorded(wanted, available)
    return same, []


def is_short(version: ReleaseKey) -> bool:
    return version.is_plain and len(version.release) < FULL


def recorded(atlas: Atlas, package: str) -> list[str]:
    return [build.version for build in atlas.builds(package)]


def not_recorded(wanted: PackageRequirement, available: Sequence[str]) -> Error:
    """Return an error with the nearest recorded releases, and the range that is recorded."""
    extent = (
        f"recorded: {available[0]} to {available[-1]}" if len(available) > 1 else f"recorded: {available[0]}"
    )
    if wanted.pin is None:
        return Error(f"no recorded release of {wanted.package} matches {wanted.limits}; {extent}")
    asked = version_key(wanted.pin)
    before = [v for v in available if version_key(v) < asked][-1:]
    after = [v for v in available if version_key(v) > asked][:1]
    near = " and ".join(before + after)
    return Error(f"{wanted.package} {wanted.pin} is not recorded; nearest: {near}; {extent}")


def choose_addon(wanted: PackageRequirement, tensorflow: Build, atlas: Atlas) -> ChosenBuild | None:
    """Return the build of an add-on for a requirement, or the nearest; None if none is recorded."""
    available = addon_builds(atlas, wanted.package)
    if not available:
        return None
    matching = [b for b in available if wanted.versions.contains(b.version, prereleases=True)]
    if wanted.pin is None:
        suit = [b for b in matching if suits(b, tensorflow)] or matching
        if not suit:
            raise not_recorded(wanted, [b.version for b in available])
        return ChosenBuild(
            wanted.package, suit[-1].version, suit[-1], [newest_note(wanted, suit[-1].version)]
        )
    build = matching[0] if matching else nearest(version_key(wanted.pin), available)
    notes = (
        []
        if matching
        else [f"{wanted.package} {wanted.pin} is not recorded: {build.version} is used instead"]
    )
    if not suits(build, tensorflow):
        asks = f"{build.package} {build.version} requires tensorflow{build.facts['requires_tensorflow']}"
        notes.append(f"{asks}, so it may not load in {tensorflow.name}")
    return ChosenBuild(wanted.package, build.version, build, notes)


def addon_builds(atlas: Atlas, package: str) -> list[Build]:
    """Return the x86-64 builds of an add-on, one for each version, the oldest first."""
    by_version = {b.version: b for b in atlas.builds(package, None) if ARM not in b.platform}
    return sorted(by_version.values(), key=lambda build: version_key(build.version))


def nearest(version: ReleaseKey, available: Sequence[Build]) -> Build:
    """Return the build nearest to a version: the same minor release first, then an older one."""

    def distance(build: Build) -> tuple[bool, bool, list[int]]:
        other = version_key(build.version)
        apart = [abs(a - b) for a, b in zip(version.release, other.release, strict=False)]
        return version.release[:2] != other.release[:2], other > version, apart

    return min(available, key=distance)


def suits(addon: Build, tensorflow: Build) -> bool:
    """Whether an add-on accepts a release of TensorFlow; without a requirement it does."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # only add-ons need it

    asks = addon.facts.get("requires_tensorflow")
    try:
        return not isinstance(asks, str) or SpecifierSet(asks).contains(tensorflow.version, prereleases=True)
    except InvalidSpecifier:
        return True


# Releases of TensorFlow Serving, and the add-ons linked into each.

PYTHON_OPS = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
"""The ops whose kernels are in the library for Python, not in that for C++, which Serving links."""

RELEASES = [
    "1.0.0", "1.3.0", "1.4.0", "1.5.0", "1.6.0", "1.6.1", "1.7.0", "1.7.1", "1.8.0", "1.9.0",
    "1.9.1", "1.10.0", "1.10.1", "1.11.0", "1.11.1", "1.12.0", "1.12.3", "1.13.0", "1.13.1", "1.13.2",
    "1.14.0", "1.15.0", "2.0.0", "2.1.0", "2.1.4", "2.2.0", "2.2.2", "2.2.3", "2.3.0", "2.3.3",
    "2.3.4", "2.4.0", "2.4.1", "2.4.2", "2.4.3", "2.4.4", "2.5.1", "2.5.2", "2.5.3", "2.5.4",
    "2.6.0", "2.6.1", "2.6.2", "2.6.3", "2.6.5", "2.7.0", "2.7.3", "2.7.4", "2.8.0", "2.8.2",
    "2.8.3", "2.8.4", "2.9.0", "2.9.1", "2.9.2", "2.9.3", "2.10.0", "2.10.1", "2.11.0", "2.11.1",
    "2.12.0", "2.12.1", "2.12.2", "2.13.0", "2.13.1", "2.14.0", "2.14.1", "2.15.1", "2.16.1", "2.17.0",
    "2.17.1", "2.18.0", "2.18.1", "2.19.0", "2.19.1", "2.20.0",
]  # fmt: skip
TEXT, FORESTS = "tensorflow-text", "tensorflow-decision-forests"
LINKED = [  # from release    TF-Text    decision forests, inference only
    ("2.0.0",                 "2.0.1",   None),     # a commit after 2.0.1, five of its ops
    ("2.2.0",                 "2.2.0",   None),
    ("2.4.0",                 "2.3.0",   None),
    ("2.4.3",                 "2.4.3",   None),
    ("2.6.0",                 "2.5.0",   None),
    ("2.7.0",                 "2.6.0",   None),
    ("2.7.3",                 "2.7.3",   None),
    ("2.8.0",                 "2.6.0",   None),
    ("2.10.0",                "2.7.3",   None),
    ("2.11.0",                "2.8.2",   "1.0.1"),
    ("2.12.0",                "2.12.1",  "1.3.0"),
    ("2.20.0",                "2.20.0",  "1.3.0"),
]  # fmt: skip
CONTRIB = [
    "boosted_trees", "coder", "data", "factorization", "framework", "hadoop", "input_pipeline",
    "kafka", "kinesis", "layers", "nccl", "nearest_neighbor", "rnn", "seq2seq",
    "tensor_forest/python", "text", "tpu",
]  # fmt: skip
"""The parts of tensorflow.contrib that 1.x links (contrib_ops_op_lib)."""
CONTRIB_UNTIL = version_key("2")


def releases(atlas: Atlas) -> list[str]:
    """Return the releases of Serving; after those of this table, one for each TensorFlow release."""
    newest = version_key(RELEASES[-1])
    return [*RELEASES, *(b.version for b in atlas.builds("tensorflow") if version_key(b.version) > newest)]


def linked(release: str) -> dict[str, str]:
    """Return the add-ons linked into a release, with their versions."""
    wanted = version_key(release)
    rows = [row for row in LINKED if version_key(row[0]) <= wanted]
    if not rows:
        return {}
    _, text, forests = rows[-1]
    return {TEXT: text, **({FORESTS: forests} if forests else {})}


def contrib_libraries(atlas: Atlas, build: Build) -> list[str]:
    """Return the libraries of tensorflow.contrib whose ops the same release of Serving has."""
    if version_key(build.version) >= CONTRIB_UNTIL:
        return []
    rows = atlas.rows("SELECT DISTINCT provider FROM op WHERE provider LIKE 'contrib/%'")
    folders = tuple(f"contrib/{folder}/" for folder in CONTRIB)
    return [provider for (provider,) in rows if provider.startswith(folders)]


def notes(release: str, addons: list[Build]) -> list[str]:
    """Return the notes about a target of this release."""
    versions = linked(release)
    if not versions:
        return [
            "derived from Serving's sources, not measured: TensorFlow with the contrib ops that 1.x links in"
        ]
    named = " and ".join(f"{package} {version}" for package, version in versions.items())
    out = [f"derived from Serving's sources, not measured: they link {named} into TensorFlow"]
    for addon in addons:
        if versions[addon.package] != addon.version:
            out.append(
                f"{addon.package} {versions[addon.package]} is not recorded: {addon.version} is used instead"
            )
    missing = sorted(set(versions) - {addon.package for addon in addons})
    return out + [f"{package} is not recorded: its ops are unknown" for package in missing]
