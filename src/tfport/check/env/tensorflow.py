"""Compare what two TensorFlow builds and their add-ons register and export."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tfport.atlas.atlas import Atlas, Build
from tfport.atlas.choose_builds import suits
from tfport.atlas.diff import RegistryDiff, diff_registries
from tfport.atlas.environment import Environment
from tfport.atlas.symbols import symbols
from tfport.atlas.target import Target
from tfport.atlas.versions import version_key
from tfport.check.console import count
from tfport.check.env.difference import NONE, EnvironmentDifference, difference
from tfport.registry.registry import Registry

SUBJECT = "tensorflow"


def tensorflow_differs(
    build: Environment, runtime: Environment, atlas: Atlas
) -> Iterator[EnvironmentDifference]:
    """The differences of TensorFlow itself, then of its add-ons."""
    here, there = build.target, runtime.target
    if here is None or there is None:
        if here and here.build and not any(name.startswith(SUBJECT) for name in runtime.packages):
            yield difference(
                "no-tensorflow", SUBJECT, _version(here), NONE, where=runtime.name,
                package=here.build.package, version=here.build.version,
            )  # fmt: skip
        return
    yield from _registries(here, there, atlas)
    yield from _libraries(here, there)
    yield from _addons(here, there, atlas)


def _version(target: Target) -> str:
    return target.build.version if target.build else target.name


def _registries(here: Target, there: Target, atlas: Atlas) -> Iterator[EnvironmentDifference]:
    """Compare the ops, attributes and kernels of TensorFlow itself."""
    before, after = (Registry(t.name, t.registry.sources[:1], t.registry.selection) for t in (here, there))
    diff = diff_registries(before, after, atlas)
    sides = (SUBJECT, _version(here), _version(there))
    if diff.went:
        ops = sorted(diff.went, key=_by_kernels(before))
        yield difference("ops-lost", *sides, names=ops, count=count(len(ops), "op"))
    attributes = list(_attributes_lost(diff, before, after))
    if attributes:
        number = count(len(attributes), "attribute")
        yield difference("attributes-lost", *sides, names=attributes, count=number)
    for device in _devices(here, there):
        lost = {change.op: len(change.went) for change in diff.kernels if change.device == device}
        ops = sorted(
            (op for op, kernels in lost.items() if kernels), key=lambda op: (op.startswith("_"), -lost[op])
        )
        if ops:
            yield difference(
                "kernels-lost", *sides, names=ops, count=count(len(ops), "op"), device=device
            )  # fmt: skip
    if diff.came:
        ops = sorted(diff.came, key=_by_kernels(after))
        yield difference("ops-gained", *sides, names=ops, count=count(len(ops), "op"))


def _by_kernels(registry: Registry) -> Callable[[str], tuple[bool, int]]:
    """Sort ops by their number of kernels, the internal ops of TensorFlow last."""
    return lambda op: (op.startswith("_"), -len(registry.kernels(op)))


def _devices(here: Target, there: Target) -> list[str]:
    return ["CPU", "GPU"] if here.device == there.device == "gpu" else ["CPU"]


def _attributes_lost(diff: RegistryDiff, before: Registry, after: Registry) -> Iterator[str]:
    for op in diff.changed:
        left = {attr.name for attr in after[op].attr}
        yield from (f"{op}.{attr.name}" for attr in before[op].attr if attr.name not in left)


def _libraries(here: Target, there: Target) -> Iterator[EnvironmentDifference]:
    """Compare what a compiled op library would use."""
    if here.build is None or there.build is None or here.build is there.build:
        return
    sides = (SUBJECT, here.build.version, there.build.version)
    exported = symbols().lost(here.build.requirement, there.build.requirement)
    if exported is not None and exported.lost:
        name = "symbols-lost-in-patch" if _same_minor(here.build, there.build) else "symbols-lost"
        yield difference(name, *sides, lost=f"{exported.lost:,}", had=f"{exported.had:,}")
    abi = [build.facts.get("cxx11_abi") for build in (here.build, there.build)]
    if None not in abi and abi[0] != abi[1]:
        yield difference("cxx-abi", *sides, abi=int(bool(abi[1])))


def _same_minor(here: Build, there: Build) -> bool:
    return version_key(here.version).release[:2] == version_key(there.version).release[:2]


def _addons(here: Target, there: Target, atlas: Atlas) -> Iterator[EnvironmentDifference]:
    after = {addon.package: addon for addon in there.addons}
    for addon in here.addons:
        other = after.get(addon.package)
        if other is None:
            ops = atlas.source(addon).ops()
            yield difference(
                "addon-missing", addon.package, addon.version, NONE,
                names=ops, addon=addon.package, count=count(len(ops), "op"),
            )  # fmt: skip
        else:
            yield from _addon_ops(addon, other, atlas)
    for addon in there.addons:
        if there.build and there.kind != "serving" and not suits(addon, there.build):
            before = next((a.version for a in here.addons if a.package == addon.package), NONE)
            yield difference(
                "addon-refuses", addon.package, before, addon.version, addon=addon.package,
                asks=addon.facts["requires_tensorflow"], tensorflow=there.build.name,
            )  # fmt: skip


def _addon_ops(addon: Build, other: Build, atlas: Atlas) -> Iterator[EnvironmentDifference]:
    lost = sorted(set(atlas.source(addon).ops()) - set(atlas.source(other).ops()))
    if lost:
        yield difference(
            "addon-ops-lost", addon.package, addon.version, other.version,
            names=lost, addon=addon.package, count=count(len(lost), "op"),
        )  # fmt: skip
