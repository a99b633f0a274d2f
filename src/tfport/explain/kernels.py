"""Look up the missing kernel of a message, and the releases that have it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from tfport.atlas.atlas import atlas
from tfport.atlas.kernel_history import kernel_text, merged
from tfport.atlas.op_search import summaries
from tfport.atlas.release_spans import STOCK, on_x86, spans
from tfport.atlas.target import Target
from tfport.check.devices import kinds_of_devices
from tfport.explain.lookup import EVERY_RELEASE, Meaning, MessageMatch, recorded
from tfport.graph.attrs import Attr, Placeholder
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.usage import LABEL
from tfport.registry.kernels import Kernel
from tfport.registry.resolve import ANY_DEVICE, unresolved_kernel
from tfport.startup.dataclass import dataclass

CPU, GPU = USUAL = ("CPU", "GPU")
GPU_PACKAGE = "tensorflow-gpu"
REDUCED = (
    "use a full build, or add the kernel to the reduced one: "
    "`tfport targets header MODEL --for TARGET` writes its ops_to_register.h"
)
MOST = 4
MEMBER = re.compile(r"(?<![\w/])([A-Z]\w{1,100}): ((?:(?:XLA_)?(?:CPU|GPU|TPU)(?:_JIT)? ?){1,8})")


def no_kernel(match: MessageMatch, target: Target | None) -> Meaning | None:
    """Which devices, dtypes and releases have a kernel for the op; None if XLA compiles it for none."""
    missing = read_missing(match)
    if any("JIT" in device for device in missing.devices):
        return None  # `explain.ops`
    where = {device: _releases(missing, device) for device in USUAL}
    return Meaning(
        [*_in_message(missing), *_elsewhere(missing, where)],
        list(_ways_out(missing, where)),
        _on_target(missing, target),
        "TFP302" if _on_same_devices(missing) or _has_recorded_kernels(missing) else None,
    )


def _on_same_devices(missing: MissingKernel) -> list[Kernel]:
    """The listed kernels for the available devices; if there are any, they are for other dtypes."""
    return [kernel for kernel in missing.kernels if kernel.device in (*missing.devices, ANY_DEVICE)]


def _has_recorded_kernels(missing: MissingKernel) -> bool:
    """Whether recorded releases have kernels for these devices although the message shows none."""
    if missing.kernels or missing.has_no_kernels:
        return False
    sets = (chapter.kernels for chapter in atlas().kernel_sets(missing.op) if not chapter.provider)
    return any(kernel.device in missing.devices for kernels in sets for kernel in kernels)


def _in_message(missing: MissingKernel) -> Iterator[str]:
    """What the message itself shows about the binary."""
    devices = " and ".join(missing.devices)
    if missing.has_no_kernels:
        yield (
            "That binary has no kernel for the op: only the op is registered (REGISTER_OP); its kernels "
            "were not compiled in, not loaded, or excluded from a reduced build."
        )
    elif kernels := _on_same_devices(missing):
        shown = [kernel_text(kernel) for kernel in merged(kernels)]
        more = f" and {len(shown) - MOST} more" if len(shown) > MOST else ""
        requested = _requested(missing) or "other dtypes"
        yield f"On {devices} the node needs {requested}; that binary has {' or '.join(shown[:MOST])}{more}."
    elif missing.kernels:
        others = sorted({kernel.device for kernel in missing.kernels if "JIT" not in kernel.device})
        yield f"That binary has only kernels for {' and '.join(others) or 'XLA'}, and ran on {devices}."


def _requested(missing: MissingKernel) -> str:
    names = dict.fromkeys(name for kernel in missing.kernels for name in kernel.constraints)
    shown = [f"{name}={_value(missing.attrs[name])}" for name in names if name in missing.attrs]
    shown += [f"label {missing.attrs[LABEL]}"] if LABEL in missing.attrs else []
    return ", ".join(shown)


def _value(value: Attr) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _releases(missing: MissingKernel, device: str) -> str:
    """The releases with a suitable kernel on a device, of the stock package and the former GPU package."""
    having = {
        build.number
        for chapter in atlas().kernel_sets(missing.op)
        if not chapter.provider
        and not unresolved_kernel(missing.attrs_for(chapter.kernels), chapter.kernels, [device])
        for build in chapter.builds
    }
    stock = on_x86(atlas(), STOCK)
    versions = {build.version for build in stock if build.number in having}
    others = [b for b in on_x86(atlas(), GPU_PACKAGE) if b.version not in versions and device == GPU]
    by_package = {STOCK: spans(stock, having), GPU_PACKAGE: spans(others, having)}
    return " and ".join(
        f"{package} {recorded(releases)}" for package, releases in by_package.items() if releases
    )


def _is_custom(missing: MissingKernel) -> bool:
    (history,) = summaries(atlas(), [missing.op])
    return not history.releases


def _is_in_every_release(releases: str) -> bool:
    return releases.startswith(f"{STOCK} {EVERY_RELEASE}")


def _elsewhere(missing: MissingKernel, where: dict[str, str]) -> Iterator[str]:
    if _is_custom(missing):
        (history,) = summaries(atlas(), [missing.op])
        provider = f"with {' or '.join(history.providers)}" if history.providers else "with its own library"
        yield f"TensorFlow itself does not have the op: the op and its kernels come {provider}."
        return
    if CPU in missing.devices and _is_in_every_release(where[CPU]):
        yield (
            "Every release has a suitable kernel on the CPU: that binary is a reduced build, or one for "
            "mobile devices, without it."
        )
    for device, releases in where.items():
        yield f"Releases with a suitable kernel on the {device}: {releases or 'none recorded'}."


def _ways_out(missing: MissingKernel, where: dict[str, str]) -> Iterator[str]:
    elsewhere = {d for d in USUAL if d not in missing.devices and _listed_for(missing, d)}
    if CPU in elsewhere:
        yield "run it on the CPU: allow soft placement, or use `tf.device('/CPU:0')`"
    if CPU in missing.devices and where[CPU]:
        suitable = f"use a release with a suitable kernel: {where[CPU]}"
        yield REDUCED if _is_in_every_release(where[CPU]) else suitable
    if GPU in elsewhere or (GPU not in missing.devices and where[GPU]):
        yield "run it on a GPU that TensorFlow can use"
    if _is_custom(missing):
        yield "if the library has only kernels for GPUs, run it where TensorFlow finds a GPU, CUDA and cuDNN"
        yield "compile it with a kernel for this device and these dtypes: `tfport lib FILE` lists its kernels"
    if not _is_custom(missing) and not any(where.values()) and not missing.kernels:
        yield (
            "no recorded release has a kernel for CPU or GPU: the op is for TPUs or another accelerator; "
            "export the model without it"
        )
    if missing.op.startswith("CudnnRNN"):
        yield "build the model with the portable layer (`LSTM`, `GRU`) and load the same weights"
    if _on_same_devices(missing):
        yield "cast to a dtype that has a kernel, and back"


def _listed_for(missing: MissingKernel, device: str) -> bool:
    kernels = missing.kernels
    return bool(kernels) and not unresolved_kernel(missing.attrs_for(kernels), kernels, [device])


def _on_target(missing: MissingKernel, target: Target | None) -> list[str]:
    if target is None:
        return []
    if missing.op not in target.registry:
        return [f"{target.name} does not register {missing.op} at all"]
    kernels, devices = target.registry.kernels(missing.op), kinds_of_devices(target)
    has = "no" if unresolved_kernel(missing.attrs_for(kernels), kernels, devices) else "a"
    return [f"{target.name} has {has} suitable kernel on {' or '.join(devices)}"]


def colocated(match: MessageMatch, target: Target | None) -> Meaning:
    """Which ops of the colocation group have no kernel on the device, according to the message."""
    kind = match.names.get("kind", GPU)
    without = [op for op, kinds in MEMBER.findall(match.text) if kind not in kinds.split()]
    named = ", ".join(dict.fromkeys(without[:MOST]))
    return Meaning(
        [f"According to the message, these ops have no kernel for {kind}: {named}."] if named else []
    )


def releases_of_op(match: MessageMatch, target: Target | None) -> Meaning:
    """Which releases register the op."""
    op = match.op
    if op is None:
        return Meaning()
    (history,) = summaries(atlas(), [op])
    return Meaning([f"TensorFlow registers {op} {recorded(history.releases)}."] if history.releases else [])


# Parse a message: dtypes, devices, and the kernels that it lists.

ATTR = re.compile(r"(\w{1,80})=(DT_\w{1,40}|\[(?:DT_\w{1,40}(?:, )?){1,100}\])")
TYPE = re.compile(r"DT_\w{1,40}")
REQUESTED_LABEL = re.compile(r"_kernel=\"([^\"]{0,80})\"")
LISTED = re.compile(r"Registered(?: kernels)?:|All kernels registered for op")
KERNEL = re.compile(r"device='?(\w{1,40})'?((?:; (?:\w{1,80} in \[[^\]]{0,800}\]|label='[^']{0,80}')){0,20})")
CONSTRAINT = re.compile(r"(\w{1,80}) in \[([^\]]{0,800})\]")
KERNEL_LABEL = re.compile(r"label='([^']{0,80})'")
DEVICES = re.compile(r"Registered devices: \[([\w, :/]{0,400})\]")
CUT = ("device=", ";", "'", "…")
"""What follows the last kernel of a truncated list."""
NONE_LISTED = "<no registered kernels>"
LONGEST_NODE = 2000


@dataclass(frozen=True)
class MissingKernel:
    """A kernel that TensorFlow did not find."""

    op: str
    attrs: Mapping[str, Attr]
    """The dtype attributes that the message shows, and the label."""
    devices: tuple[str, ...]
    """The device types that were available."""
    kernels: tuple[Kernel, ...]
    """The kernels of the binary that the message lists for the op."""
    has_no_kernels: bool
    """Whether the message says that the op has no kernels."""

    def attrs_for(self, kernels: Iterable[Kernel]) -> dict[str, Attr]:
        """The attributes, with placeholders for those that kernels constrain and the message omits."""
        names = {name for kernel in kernels for name in kernel.constraints}
        return {**{name: Placeholder(name) for name in names}, **self.attrs}


def read_missing(match: MessageMatch) -> MissingKernel:
    """Parse the message."""
    start = LISTED.search(match.text)
    before, after = (match.text[: start.start()], match.text[start.end() :]) if start else (match.text, "")
    op = match.names["op"]
    listed = _kernels(op, after)
    return MissingKernel(op, _attrs(op, before, after), _devices(match), listed, NONE_LISTED in after[:80])


def _attrs(op: str, before: str, after: str) -> dict[str, Attr]:
    """Parse the attributes: before the list of kernels, or in the node after it."""
    node = re.search(rf"= {re.escape(op)}\[", after)
    shown = before if "=" in before else after[node.end() :][:LONGEST_NODE] if node else ""
    attrs: dict[str, Attr] = {}
    for name, value in ATTR.findall(shown):
        types = [_dtype(dtype) for dtype in TYPE.findall(value)]
        attrs.setdefault(name, types if value.startswith("[") else types[0])
    label = REQUESTED_LABEL.search(shown)
    return {**attrs, LABEL: label[1]} if label else attrs


def _dtype(name: str) -> DType:
    try:
        return DType.parse(name)
    except KeyError:
        return INVALID


def _devices(match: MessageMatch) -> tuple[str, ...]:
    if named := match.names.get("device"):
        return (named.upper(),)
    devices = DEVICES.search(match.text)
    return tuple(devices[1].replace(" ", "").split(",")) if devices and devices[1] else ("CPU",)


def _kernels(op: str, text: str) -> tuple[Kernel, ...]:
    """Parse the listed kernels; none if the list is truncated, as in logs with a line limit."""
    kernels = list(KERNEL.finditer(text))
    rest = text[kernels[-1].end() :].strip() if kernels else ""
    if rest and (rest.startswith(CUT) or CUT[0].startswith(rest)):
        return ()
    return tuple(_kernel(op, match[1], match[2]) for match in kernels)


def _kernel(op: str, device: str, rest: str) -> Kernel:
    constraints = {
        name: tuple(map(_dtype, TYPE.findall(values))) for name, values in CONSTRAINT.findall(rest)
    }
    label = KERNEL_LABEL.search(rest)
    return Kernel(op, device, constraints, label=label[1] if label else "")
