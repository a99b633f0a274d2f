"""Summarize a target: its sources, and how many ops and kernels each registers."""

from __future__ import annotations

import zlib
from collections import Counter
from typing import TYPE_CHECKING, Any

from tfport.atlas.atlas import Atlas, Build, has_bit
from tfport.atlas.kernel_history import device_order
from tfport.atlas.lite.registry import LiteRegistry
from tfport.formats.proto.kernel_pb2 import KernelList
from tfport.registry.registry import Source
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.atlas.target import Target

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
