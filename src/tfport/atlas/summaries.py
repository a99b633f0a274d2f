"""Summaries for people: the packages and releases of the atlas, and one target with its sources."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tfport.atlas.atlas import ARM, TENSORFLOWS, Atlas, Build, has_bit
from tfport.atlas.keras_releases import PACKAGES as KERAS_PACKAGES
from tfport.atlas.keras_releases import keras_releases
from tfport.atlas.kernel_history import device_order, with_kernels
from tfport.atlas.lite.converter import PACKAGE as CONVERTER
from tfport.atlas.lite.converter import converter_releases
from tfport.atlas.lite.releases import PACKAGES as LITE_PACKAGES
from tfport.atlas.lite.releases import LiteRegistry, lite_versions
from tfport.atlas.versions import version_key
from tfport.formats.proto.kernel_pb2 import KernelList
from tfport.registry.registry import Source
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.atlas.target import Target


VERSION = 1


@dataclass(frozen=True, slots=True)
class Release:
    """A recorded build, and how many ops and kernels it registers itself."""

    build: Build
    ops: int
    kernels: int | None
    """None if not recorded."""

    def to_json(self) -> dict[str, Any]:
        build = self.build
        return {
            "target": build.requirement,
            "version": build.version,
            "platform": build.platform,
            "wheel": build.wheel,
            "sha256": build.sha256,
            "ops": self.ops,
            "kernels": self.kernels,
            "facts": build.facts,
        }


@dataclass(frozen=True, slots=True)
class Package:
    """A package and its recorded builds for one machine, the oldest first."""

    name: str
    releases: list[Release]

    @property
    def is_tensorflow(self) -> bool:
        return self.name in TENSORFLOWS

    @property
    def is_for_arm(self) -> bool:
        return ARM in self.releases[0].build.platform

    def newest_patches(self) -> list[Release]:
        """Return the newest release of each minor version."""
        return list({_minor(release): release for release in self.releases}.values())


def _minor(release: Release) -> tuple[int, ...]:
    return version_key(release.build.version).release[:2]


@dataclass(frozen=True, slots=True)
class Overview:
    """All recorded packages."""

    packages: list[Package]
    keras: dict[str, list[str]]
    """The releases with a Keras by package, the oldest first: what loads Keras files."""
    lite: dict[str, list[str]]
    """The releases with a TensorFlow Lite interpreter by package, the oldest first."""

    def to_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "packages": [
                {"name": package.name, "releases": [release.to_json() for release in package.releases]}
                for package in self.packages
            ],
            "keras": [{"name": package, "versions": versions} for package, versions in self.keras.items()],
            "lite": [{"name": package, "versions": versions} for package, versions in self.lite.items()],
        }


def overview(atlas: Atlas) -> Overview:
    """Return the packages, TensorFlow's own first."""
    builds = atlas.builds(platform=None)
    ops, kernels = _ops(atlas, builds), _kernels(atlas, builds)
    packages: dict[tuple[str, bool], list[Release]] = {}
    with_recorded_kernels = with_kernels(atlas, builds)
    for build in sorted(builds, key=lambda b: not b.is_tensorflow):
        known = build.number in with_recorded_kernels or not build.is_tensorflow
        release = Release(build, ops[build.number], kernels[build.number] if known else None)
        packages.setdefault((build.package, ARM in build.platform), []).append(release)
    keras = {package: [r.version for r in keras_releases(package)] for package in KERAS_PACKAGES}
    lite = {package: list(lite_versions(package)) for package in (*LITE_PACKAGES, "tensorflow")}
    lite[CONVERTER] = converter_releases()
    return Overview([Package(name, releases) for (name, _), releases in packages.items()], keras, lite)


def _ops(atlas: Atlas, builds: list[Build]) -> Counter[int]:
    rows = Counter(atlas.rows("SELECT provider, builds FROM op"))
    return _per_build(((provider, bits, n) for (provider, bits), n in rows.items()), builds)


def _kernels(atlas: Atlas, builds: list[Build]) -> Counter[int]:
    rows: Counter[tuple[str, bytes]] = Counter()
    for provider, bits, body in atlas.rows("SELECT provider, builds, kernels FROM kernels"):
        rows[provider, bits] += len(KernelList.FromString(zlib.decompress(body)).kernel)
    return _per_build(((provider, bits, n) for (provider, bits), n in rows.items()), builds)


def _per_build(rows: Iterable[tuple[str, bytes, int]], builds: list[Build]) -> Counter[int]:
    """Return the counts by build; libraries of TensorFlow's wheel that must be imported do not count."""
    addons = sum(1 << build.number for build in builds if not build.is_tensorflow)
    counts: Counter[int] = Counter()
    for provider, bits, n in rows:
        having = int.from_bytes(bits, "little")
        for number in _bits(having & addons if provider else having):
            counts[number] += n
    return counts


def _bits(number: int) -> Iterator[int]:
    while number:
        yield (number & -number).bit_length() - 1
        number &= number - 1


# One target: its sources, and how many ops and kernels each registers.

WHOLE = ("tensorflow", "serving")
"""Kinds of targets that use complete builds."""


@dataclass(frozen=True, slots=True)
class SourceSummary:
    """One source of a target: a recorded build, or one of the user."""

    name: str
    build: Build | None
    ops: int
    kernels: dict[str, int]
    """Number of kernels by device."""
    libraries: dict[str, int]
    """Libraries of its wheel that register ops when imported, and how many."""

    def to_json(self) -> dict[str, Any]:
        build = self.build
        return {
            "name": self.name,
            "target": build.requirement if build else None,
            "platform": build.platform if build else None,
            "wheel": build.wheel if build else None,
            "sha256": build.sha256 if build else None,
            "facts": build.facts if build else {},
            "ops": self.ops,
            "kernels": self.kernels,
            "libraries": self.libraries,
        }


@dataclass(frozen=True, slots=True)
class TargetSummary:
    """A target and its sources."""

    name: str
    requirement: str
    """The text that names the target."""
    kind: str
    device: str
    ops: int
    parts: list[SourceSummary]
    notes: list[str]
    lite: LiteRegistry | None = None
    """Its TensorFlow Lite interpreter, if one is recorded."""

    def to_json(self) -> dict[str, Any]:
        parts = [part.to_json() for part in self.parts]
        return {
            "name": self.name,
            "target": self.requirement,
            "kind": self.kind,
            "device": self.device,
            "ops": self.ops,
            "parts": parts,
            "notes": self.notes,
            "lite": self.lite.to_json() if self.lite is not None else None,
        }


def summarize_target(target: Target, atlas: Atlas) -> TargetSummary:
    """Summarize a target; of complete builds, only the devices of kernels are decoded."""
    builds = [target.build, *target.addons] if target.registry.sources else []
    sources = zip(target.registry.sources, builds, strict=True)
    parts = [_summarize_source(source, build, target, atlas) for source, build in sources]
    name, ops = target.name, len(target.registry)
    kind, device, notes = target.kind, target.device, target.notes
    return TargetSummary(name, target.requirement, kind, device, ops, parts, notes, target.lite)


def _summarize_source(source: Source, build: Build | None, target: Target, atlas: Atlas) -> SourceSummary:
    kept = target.registry.selection.ops
    ops = [op for op in source.ops() if kept is None or op in kept]
    if build is not None and target.kind in WHOLE and len(ops) == _own_ops(build, atlas):
        kernels, libraries = _own_kernels(build, atlas), _libraries(build, atlas)
    else:
        kernels, libraries = Counter(k.device for op in ops for k in source.kernels(op)), {}
    by_device = {device: kernels[device] for device in sorted(kernels, key=device_order)}
    return SourceSummary(source.name, build, len(ops), by_device, libraries)


def _own_ops(build: Build, atlas: Atlas) -> int:
    """Count the ops of a build before any library of its wheel is imported."""
    rows = atlas.rows("SELECT DISTINCT name, provider, builds FROM op")
    return len({name for name, provider, bits in rows if _is_own(build, provider, bits)})


def _is_own(build: Build, provider: str, bits: bytes) -> bool:
    return has_bit(bits, build.number) and not (provider and build.is_tensorflow)


def _own_kernels(build: Build, atlas: Atlas) -> Counter[str]:
    counts: Counter[str] = Counter()
    for provider, bits, body in atlas.rows("SELECT provider, builds, kernels FROM kernels"):
        if _is_own(build, provider, bits):
            kernels = KernelList.FromString(zlib.decompress(body)).kernel
            counts.update(kernel.device_type for kernel in kernels)
    return counts


def _libraries(build: Build, atlas: Atlas) -> dict[str, int]:
    rows = atlas.rows("SELECT provider, builds FROM op WHERE provider <> '' ORDER BY provider")
    return dict(Counter(library for library, bits in rows if has_bit(bits, build.number)))
