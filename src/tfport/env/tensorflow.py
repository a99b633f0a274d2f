"""Compare what two TensorFlow builds and their add-ons register and export."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tfport.atlas.atlas import Atlas, Build
from tfport.atlas.diff import RegistryDiff, diff_registries
from tfport.atlas.environment import Environment
from tfport.atlas.symbols import symbols
from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.env.difference import NONE, EnvironmentDifference, addon_advice, difference, same_addon_advice
from tfport.registry.registry import OpRegistry
from tfport.words import count

SUBJECT = "tensorflow"


def tensorflow_differs(
    build: Environment, runtime: Environment, atlas: Atlas
) -> Iterator[EnvironmentDifference]:
    """The differences of TensorFlow itself, then of its add-ons."""
    first, second = build.target, runtime.target
    if first is None or second is None:
        if first and first.build and second is None and not runtime.unknown:
            yield difference(
                "no-tensorflow", SUBJECT, _version(first), NONE, where=runtime.name,
                package=first.build.package, version=first.build.version,
            )  # fmt: skip
        return
    yield from _registries(first, second, atlas)
    yield from _libraries(first, second)
    yield from _addons(first, second, runtime.python, atlas)


def _version(target: Target) -> str:
    return target.build.version if target.build else target.name


def _registries(first: Target, second: Target, atlas: Atlas) -> Iterator[EnvironmentDifference]:
    """Compare the ops, attributes and kernels of TensorFlow itself."""
    before, after = (
        OpRegistry(t.name, t.registry.sources[:1], t.registry.selection) for t in (first, second)
    )
    diff = diff_registries(before, after, atlas)
    sides = (SUBJECT, _version(first), _version(second))
    if ops := sorted(filter(is_public, diff.removed), key=_by_kernels(before)):
        yield difference("ops-lost", *sides, names=ops, count=count(len(ops), "op"))
    attributes = list(_attributes_lost(diff, before, after))
    if attributes:
        number = count(len(attributes), "attribute")
        yield difference("attributes-lost", *sides, names=attributes, count=number)
    for device in _devices(first, second):
        lost = {change.op: len(change.removed) for change in diff.kernels if change.device == device}
        ops = sorted((op for op in lost if lost[op] and is_public(op)), key=lambda op: -lost[op])
        if ops:
            yield difference(
                "kernels-lost", *sides, names=ops, count=count(len(ops), "op"), device=device
            )  # fmt: skip
    if ops := sorted(filter(is_public, diff.added), key=_by_kernels(after)):
        yield difference("ops-gained", *sides, names=ops, count=count(len(ops), "op"))


def is_public(op: str) -> bool:
    """Whether models can contain an op: TensorFlow makes internal ones itself while it runs a model."""
    return not op.startswith("_")


def _by_kernels(registry: OpRegistry) -> Callable[[str], int]:
    """Sort ops by their number of kernels."""
    return lambda op: -len(registry.kernels(op))


def _devices(first: Target, second: Target) -> list[str]:
    return ["CPU", "GPU"] if first.device == second.device == "gpu" else ["CPU"]


def _attributes_lost(diff: RegistryDiff, before: OpRegistry, after: OpRegistry) -> Iterator[str]:
    for op in filter(is_public, diff.changed):
        left = {attr.name for attr in after[op].attr}
        yield from (f"{op}.{attr.name}" for attr in before[op].attr if attr.name not in left)


def _libraries(first: Target, second: Target) -> Iterator[EnvironmentDifference]:
    """Compare what a compiled op library would use."""
    if first.build is None or second.build is None or first.build is second.build:
        return
    sides = (SUBJECT, first.build.version, second.build.version)
    exported = symbols().lost(first.build.requirement, second.build.requirement)
    if exported is not None and exported.lost:
        name = "symbols-lost-in-patch" if _same_minor(first.build, second.build) else "symbols-lost"
        yield difference(name, *sides, lost=f"{exported.lost:,}", had=f"{exported.had:,}")
    abi = [build.facts.get("cxx11_abi") for build in (first.build, second.build)]
    if None not in abi and abi[0] != abi[1]:
        yield difference("cxx-abi", *sides, abi=int(bool(abi[1])))


def _same_minor(first: Build, second: Build) -> bool:
    return version_key(first.version).release[:2] == version_key(second.version).release[:2]


def _addons(first: Target, second: Target, python: str, atlas: Atlas) -> Iterator[EnvironmentDifference]:
    after = {addon.package: addon for addon in second.addons}
    for addon in first.addons:
        other = after.get(addon.package)
        if other is not None:
            yield from _addon_ops(addon, other, second, atlas)
        elif ops := [op for op in atlas.source(addon).ops() if is_public(op)]:
            advice = addon_advice(addon.package, second.build, python) if second.build else ""
            yield difference(
                "addon-missing", addon.package, addon.version, NONE,
                names=ops, addon=addon.package, count=count(len(ops), "op"), advice=advice,
            )  # fmt: skip


def _addon_ops(addon: Build, other: Build, second: Target, atlas: Atlas) -> Iterator[EnvironmentDifference]:
    lost = sorted(filter(is_public, set(atlas.source(addon).ops()) - set(atlas.source(other).ops())))
    if lost:
        advice = same_addon_advice(addon.package, addon.version, second.build) if second.build else ""
        yield difference(
            "addon-ops-lost", addon.package, addon.version, other.version,
            names=lost, addon=addon.package, count=count(len(lost), "op"), advice=advice,
        )  # fmt: skip
