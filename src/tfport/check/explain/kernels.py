"""Which kernel a message misses, and in which releases there is one that would do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfport.atlas.atlas import atlas
from tfport.atlas.kernel_text import kernel_text, merged
from tfport.atlas.search import summaries
from tfport.atlas.spans import STOCK, on_x86, spans, spans_text
from tfport.atlas.target import Target
from tfport.check.devices import kinds_of_devices
from tfport.check.explain.kernel_list import MissingKernel, read_missing
from tfport.check.explain.lookup import Meaning, MessageMatch
from tfport.graph.attrs import Attr
from tfport.graph.usage import LABEL
from tfport.registry.kernels import Kernel
from tfport.registry.resolve import ANY_DEVICE, unresolved_kernel

CPU, GPU = USUAL = ("CPU", "GPU")
GPU_PACKAGE = "tensorflow-gpu"
MOST = 4
MEMBER = re.compile(r"(?<![\w/])([A-Z]\w{1,100}): ((?:(?:XLA_)?(?:CPU|GPU|TPU)(?:_JIT)? ?){1,8})")


def no_kernel(said: MessageMatch, target: Target | None) -> Meaning:
    missing = read_missing(said)
    where = {device: _releases(missing, device) for device in USUAL}
    return Meaning(
        [*_in_message(missing), *_elsewhere(missing, where)],
        list(_ways_out(missing, where)),
        _on_target(missing, target),
        "TFP302" if _own(missing) or _usually_has_some(missing) else None,
    )


def _own(missing: MissingKernel) -> list[Kernel]:
    """The kernels for the devices that were there; where there are any, they are for other types."""
    return [kernel for kernel in missing.kernels if kernel.device in (*missing.devices, ANY_DEVICE)]


def _usually_has_some(missing: MissingKernel) -> bool:
    """Whether recorded releases have kernels for these devices, where the message shows none."""
    if missing.kernels or missing.none_at_all:
        return False
    sets = (chapter.kernels for chapter in atlas().kernel_sets(missing.op) if not chapter.provider)
    return any(kernel.device in missing.devices for kernels in sets for kernel in kernels)


def _in_message(missing: MissingKernel) -> Iterator[str]:
    """What the message itself shows of that binary."""
    there = " and ".join(missing.devices)
    if missing.none_at_all:
        yield (
            "That binary has no kernel for it at all: only the op was registered (REGISTER_OP); its kernels "
            "were not compiled in, not loaded, or left out of a reduced build."
        )
    elif own := _own(missing):
        shown = [kernel_text(kernel) for kernel in merged(own)]
        more = f" and {len(shown) - MOST} more" if len(shown) > MOST else ""
        wanted = _wanted(missing) or "other types"
        yield f"On {there} it was asked for {wanted}; that binary has {' or '.join(shown[:MOST])}{more}."
    elif missing.kernels:
        others = sorted({kernel.device for kernel in missing.kernels if "JIT" not in kernel.device})
        yield f"That binary has kernels for {' and '.join(others) or 'XLA'} only, and was run on {there}."


def _wanted(missing: MissingKernel) -> str:
    names = dict.fromkeys(name for kernel in missing.kernels for name in kernel.constraints)
    shown = [f"{name}={_value(missing.attrs[name])}" for name in names if name in missing.attrs]
    shown += [f"label {missing.attrs[LABEL]}"] if LABEL in missing.attrs else []
    return ", ".join(shown)


def _value(value: Attr) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _releases(missing: MissingKernel, device: str) -> str:
    """The releases with a kernel that would do on a device; those of GPUs had a package of their own once."""
    having = {
        build.number
        for chapter in atlas().kernel_sets(missing.op)
        if not chapter.provider
        and not unresolved_kernel(missing.open_for(chapter.kernels), chapter.kernels, [device])
        for build in chapter.builds
    }
    stock = on_x86(atlas(), STOCK)
    versions = {build.version for build in stock if build.number in having}
    own = [b for b in on_x86(atlas(), GPU_PACKAGE) if b.version not in versions and device == GPU]
    found = {STOCK: spans(stock, having), GPU_PACKAGE: spans(own, having)}
    return " and ".join(
        f"{package} {spans_text(releases)}" for package, releases in found.items() if releases
    )


def _elsewhere(missing: MissingKernel, where: dict[str, str]) -> Iterator[str]:
    (history,) = summaries(atlas(), [missing.op])
    if not history.releases:
        provider = f"with {' or '.join(history.providers)}" if history.providers else "with its own library"
        yield f"TensorFlow by itself does not have the op: it comes {provider}, and so do its kernels."
        return
    for device, releases in where.items():
        yield f"A kernel for it on the {device}: {releases or 'in no recorded release'}."


def _ways_out(missing: MissingKernel, where: dict[str, str]) -> Iterator[str]:
    elsewhere = {d for d in USUAL if d not in missing.devices and _listed_for(missing, d)}
    if CPU in elsewhere:
        yield "let it run on the CPU: soft placement, or `tf.device('/CPU:0')`"
    if CPU in missing.devices and where[CPU]:
        yield f"use a release with such a kernel: {where[CPU]}"
    if GPU in elsewhere or (GPU not in missing.devices and where[GPU]):
        yield "run it on a GPU that TensorFlow sees"
    if missing.op.startswith("CudnnRNN"):
        yield "build the model with the portable layer (`LSTM`, `GRU`) and load the same weights"
    if _own(missing):
        yield "cast to a type that has a kernel, and back"


def _listed_for(missing: MissingKernel, device: str) -> bool:
    kernels = missing.kernels
    return bool(kernels) and not unresolved_kernel(missing.open_for(kernels), kernels, [device])


def _on_target(missing: MissingKernel, target: Target | None) -> list[str]:
    if target is None:
        return []
    if missing.op not in target.registry:
        return [f"{target.name} does not register {missing.op} at all"]
    kernels, devices = target.registry.kernels(missing.op), kinds_of_devices(target)
    has = "no" if unresolved_kernel(missing.open_for(kernels), kernels, devices) else "a"
    return [f"{target.name} has {has} kernel for it on {' or '.join(devices)}"]


def colocated(said: MessageMatch, target: Target | None) -> Meaning:
    """Which op has no kernel there: messages list the devices of each op of the group."""
    kind = said.names.get("kind", GPU)
    without = [op for op, kinds in MEMBER.findall(said.text) if kind not in kinds.split()]
    named = ", ".join(dict.fromkeys(without[:MOST]))
    return Meaning([f"Without a kernel for {kind}, as the message lists them: {named}."] if named else [])


def releases_of_op(said: MessageMatch, target: Target | None) -> Meaning:
    """Where the op is, with kernels that take it as it is."""
    op = said.op
    if op is None:
        return Meaning()
    (history,) = summaries(atlas(), [op])
    return Meaning([f"TensorFlow registers {op} {spans_text(history.releases)}."] if history.releases else [])
