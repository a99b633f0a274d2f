"""What changed from one runtime to another: ops, kernels and what their builds are made for.

Recorded builds share what they have in common, so only what differs is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tfport.atlas.atlas import Atlas, Build, RecordedSource, has_bit
from tfport.atlas.kernel_text import kernel_key
from tfport.atlas.op_definitions import definition_changes
from tfport.registry.kernels import Kernel
from tfport.registry.registry import Registry, Source


@dataclass(frozen=True, slots=True)
class KernelChange:
    """Kernels of an op on one device that came, went, or changed."""

    op: str
    device: str
    came: list[Kernel]
    went: list[Kernel]
    changed: list[Kernel]
    """For the same types, with other arguments in host memory or another priority; as they are after."""


@dataclass(frozen=True, slots=True)
class RegistryDiff:
    """What is different in the second of two runtimes."""

    before: str
    after: str
    came: list[str]
    went: list[str]
    changed: dict[str, list[str]]
    """Ops that both have, with what changed in their definitions."""
    kernels: list[KernelChange]
    """Of ops that both have."""
    facts: dict[str, tuple[Any, Any]]
    """What is told of both builds, and differs."""
    kernels_missing: list[str]
    """Which of the two did not tell its kernels; then `kernels` is empty."""

    def __bool__(self) -> bool:
        return bool(self.came or self.went or self.changed or self.kernels or self.facts)


def diff_registries(before: Registry, after: Registry, atlas: Atlas) -> RegistryDiff:
    """What came, went and changed; `atlas` is where recorded builds are."""
    missing = [r.name for r in (before, after) if not any(source.kernels("Const") for source in r.sources)]
    ops = _differing(before, after, atlas, "SELECT rowid, name, provider, builds FROM op")
    partial = any(_told(registry).get("kernels_partial") for registry in (before, after))
    changed = {op: definition_changes(before[op], after[op]) for op in ops if op in before and op in after}
    return RegistryDiff(
        before.name,
        after.name,
        came=[op for op in ops if op in after and op not in before],
        went=[op for op in ops if op in before and op not in after],
        changed={op: changes for op, changes in changed.items() if changes},
        kernels=[] if missing else _kernel_changes(before, after, atlas, partial=partial),
        facts=_facts(before, after),
        kernels_missing=missing,
    )


def _differing(before: Registry, after: Registry, atlas: Atlas, query: str) -> list[str]:
    """Ops that may not be the same in both."""
    rows = atlas.rows(query)
    here, there = (_marks(registry, atlas, rows) for registry in (before, after))
    return sorted(op for op in here.keys() | there.keys() if here.get(op) != there.get(op))


def _marks(registry: Registry, atlas: Atlas, rows: list[tuple[Any, ...]]) -> dict[str, list[object]]:
    """For each op something that is equal only where two registries have it alike."""
    found: dict[str, list[object]] = {}
    for source in registry.sources:
        build = _recorded(source, atlas)
        if build is None:
            for op in source.ops():
                found.setdefault(op, []).append(source)
            continue
        for row, op, library, bits in rows:
            if has_bit(bits, build.number):  # whether a library is imported is not seen here
                found.setdefault(op, []).append((row, source) if library else row)
    kept = registry.selection.ops
    return found if kept is None else {op: marks for op, marks in found.items() if op in kept}


def _recorded(source: Source, atlas: Atlas) -> Build | None:
    build = source.build if isinstance(source, RecordedSource) else None
    same = build and atlas.find(build.package, build.version, build.platform)
    return same if same is build else None


def _kernel_changes(before: Registry, after: Registry, atlas: Atlas, *, partial: bool) -> list[KernelChange]:
    """`partial` where one of the two does not tell host memory and priorities."""
    ops = _differing(before, after, atlas, "SELECT rowid, op, provider, builds FROM kernels")
    found = []
    for op in ops:
        if op in before and op in after:
            here, there = _by_device(before.kernels(op)), _by_device(after.kernels(op))
            for device in sorted(here.keys() | there.keys()):
                change = _kernel_change(op, device, here.get(device, {}), there.get(device, {}))
                found.append(replace(change, changed=[]) if partial else change)
    return [change for change in found if change.came or change.went or change.changed]


def _by_device(kernels: Iterable[Kernel]) -> dict[str, dict[object, Kernel]]:
    found: dict[str, dict[object, Kernel]] = {}
    for kernel in kernels:
        found.setdefault(kernel.device, {})[kernel_key(kernel)] = kernel
    return found


def _kernel_change(
    op: str, device: str, here: dict[object, Kernel], there: dict[object, Kernel]
) -> KernelChange:
    return KernelChange(
        op,
        device,
        came=[kernel for key, kernel in there.items() if key not in here],
        went=[kernel for key, kernel in here.items() if key not in there],
        changed=[
            kernel for key, kernel in there.items() if key in here and _extras(here[key]) != _extras(kernel)
        ],
    )


def _extras(kernel: Kernel) -> tuple[list[str], int]:
    return sorted(kernel.host_memory), kernel.priority


def _facts(before: Registry, after: Registry) -> dict[str, tuple[Any, Any]]:
    here, there = _told(before), _told(after)
    return {key: (here.get(key), there.get(key)) for key in sorted(here.keys() | there.keys())
            if here.get(key) != there.get(key)}  # fmt: skip


def _told(registry: Registry) -> dict[str, Any]:
    """The facts of the first recorded build: TensorFlow, where there are add-ons beside it."""
    builds = (source.build for source in registry.sources if isinstance(source, RecordedSource))
    return next((build.facts for build in builds), {})
