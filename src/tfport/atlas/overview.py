"""An overview of the atlas: packages, releases, and how many ops and kernels each registers."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from tfport.atlas.atlas import ARM, TENSORFLOWS, Atlas, Build
from tfport.atlas.keras_releases import PACKAGES as KERAS_PACKAGES
from tfport.atlas.keras_releases import keras_releases
from tfport.atlas.kernel_history import with_kernels
from tfport.atlas.lite.converter import PACKAGE as CONVERTER
from tfport.atlas.lite.converter import converter_releases
from tfport.atlas.lite.releases import PACKAGES as LITE_PACKAGES
from tfport.atlas.lite.releases import lite_versions
from tfport.atlas.versions import version_key
from tfport.formats.proto.kernel_pb2 import KernelList
from tfport.startup.dataclass import dataclass

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
