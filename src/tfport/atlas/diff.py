"""The difference between two runtimes: ops, kernels and build facts.

Recorded builds share equal rows, so only rows that differ are decoded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfport.atlas.atlas import Atlas, Build, RecordedSource, has_bit
from tfport.atlas.kernel_history import kernel_key
from tfport.atlas.op_definitions import definition_changes
from tfport.registry.kernels import Kernel
from tfport.registry.registry import OpRegistry, Source
from tfport.startup.dataclass import dataclass, replace


@dataclass(frozen=True, slots=True)
class KernelChange:
    """Kernels of an op on one device that were added, removed or changed."""

    op: str
    device: str
    added: list[Kernel]
    removed: list[Kernel]
    changed: list[Kernel]
    """Same types, but different host memory arguments or priority; the newer kernels."""


@dataclass(frozen=True, slots=True)
class RegistryDiff:
    """What differs in the second of two runtimes."""

    before: str
    after: str
    added: list[str]
    removed: list[str]
    changed: dict[str, list[str]]
    """Ops of both runtimes, with the changes of their definitions."""
    kernels: list[KernelChange]
    """Changes of kernels, for ops of both runtimes."""
    facts: dict[str, tuple[Any, Any]]
    """Build facts that differ, before and after."""
    kernels_missing: list[str]
    """Runtimes whose kernels are not recorded; if there are any, `kernels` is empty."""

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed or self.kernels or self.facts)


def diff_registries(before: OpRegistry, after: OpRegistry, atlas: Atlas) -> RegistryDiff:
    """Compare two registries; `atlas` has the recorded builds."""
    missing = [r.name for r in (before, after) if not any(source.kernels("Const") for source in r.sources)]
    ops = _differing(before, after, atlas, "SELECT rowid, name, provider, builds FROM op")
    partial = any(_facts_of(registry).get("kernels_partial") for registry in (before, after))
    changed = {op: definition_changes(before[op], after[op]) for op in ops if op in before and op in after}
    return RegistryDiff(
        before.name,
        after.name,
        added=[op for op in ops if op in after and op not in before],
        removed=[op for op in ops if op in before and op not in after],
        changed={op: changes for op, changes in changed.items() if changes},
        kernels=[] if missing else _kernel_changes(before, after, atlas, partial=partial),
        facts=_facts(before, after),
        kernels_missing=missing,
    )


def _differing(before: OpRegistry, after: OpRegistry, atlas: Atlas, query: str) -> list[str]:
    """Return the ops that may differ."""
    rows = atlas.rows(query)
    old, new = (_marks(registry, atlas, rows) for registry in (before, after))
    return sorted(op for op in old.keys() | new.keys() if old.get(op) != new.get(op))


def _marks(registry: OpRegistry, atlas: Atlas, rows: list[tuple[Any, ...]]) -> dict[str, list[object]]:
    """Return for each op a value that is equal only if two registries have the same op."""
    marks_of: dict[str, list[object]] = {}
    for source in registry.sources:
        build = _recorded(source, atlas)
        if build is None:
            for op in source.ops():
                marks_of.setdefault(op, []).append(source)
            continue
        for row, op, library, bits in rows:
            if has_bit(bits, build.number):  # whether a library is imported is unknown here
                marks_of.setdefault(op, []).append((row, source) if library else row)
    kept = registry.selection.ops
    return marks_of if kept is None else {op: marks for op, marks in marks_of.items() if op in kept}


def _recorded(source: Source, atlas: Atlas) -> Build | None:
    build = source.build if isinstance(source, RecordedSource) else None
    same = build and atlas.find(build.package, build.version, build.platform)
    return same if same is build else None


def _kernel_changes(
    before: OpRegistry, after: OpRegistry, atlas: Atlas, *, partial: bool
) -> list[KernelChange]:
    """Compare kernels; `partial` if host memory and priorities of one side are unknown."""
    ops = _differing(before, after, atlas, "SELECT rowid, op, provider, builds FROM kernels")
    changes = []
    for op in ops:
        if op in before and op in after:
            old, new = _by_device(before.kernels(op)), _by_device(after.kernels(op))
            for device in sorted(old.keys() | new.keys()):
                change = _kernel_change(op, device, old.get(device, {}), new.get(device, {}))
                changes.append(replace(change, changed=[]) if partial else change)
    return [change for change in changes if change.added or change.removed or change.changed]


def _by_device(kernels: Iterable[Kernel]) -> dict[str, dict[object, Kernel]]:
    by_device: dict[str, dict[object, Kernel]] = {}
    for kernel in kernels:
        by_device.setdefault(kernel.device, {})[kernel_key(kernel)] = kernel
    return by_device


def _kernel_change(
    op: str, device: str, old: dict[object, Kernel], new: dict[object, Kernel]
) -> KernelChange:
    return KernelChange(
        op,
        device,
        added=[kernel for key, kernel in new.items() if key not in old],
        removed=[kernel for key, kernel in old.items() if key not in new],
        changed=[
            kernel for key, kernel in new.items() if key in old and _extras(old[key]) != _extras(kernel)
        ],
    )


def _extras(kernel: Kernel) -> tuple[list[str], int]:
    return sorted(kernel.host_memory), kernel.priority


def _facts(before: OpRegistry, after: OpRegistry) -> dict[str, tuple[Any, Any]]:
    old, new = _facts_of(before), _facts_of(after)
    return {key: (old.get(key), new.get(key)) for key in sorted(old.keys() | new.keys())
            if old.get(key) != new.get(key)}  # fmt: skip


def _facts_of(registry: OpRegistry) -> dict[str, Any]:
    """Return the facts of the first recorded build: TensorFlow, if there are add-ons too."""
    builds = (source.build for source in registry.sources if isinstance(source, RecordedSource))
    return next((build.facts for build in builds), {})
