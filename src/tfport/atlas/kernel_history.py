"""The kernels of an op over time, by device, types, label and releases; and kernels as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tfport.atlas.atlas import Atlas, Build, OpVersion
from tfport.atlas.op_definitions import value_text
from tfport.atlas.release_spans import Span, spans
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.dtypes import DType
from tfport.registry.kernels import Kernel
from tfport.startup.dataclass import dataclass, replace

Line = tuple[str, str, str]
"""A device, a dtype (empty for any) and a label."""
DEVICES = ("CPU", "GPU", "DEFAULT")


@dataclass(frozen=True, slots=True)
class KernelAvailability:
    """The types for which an op has kernels on a device, and the releases that have them."""

    device: str
    types: tuple[str, ...]
    """Values of the main type attribute; empty for any."""
    label: str
    releases: tuple[Span, ...]


def main_type(op: OpDef, kernels: Iterable[Kernel]) -> str | None:
    """Return the type attribute that distinguishes most kernels of an op."""
    values: dict[str, set[DType]] = {attr.name: set() for attr in op.attr if "type" in attr.type}
    for kernel in kernels:
        for name in values.keys() & kernel.constraints:
            values[name].update(kernel.constraints[name])
    best = max(values, key=lambda name: len(values[name]), default=None)
    return best if best and values[best] else None


def lines_of(version: OpVersion, type_attr: str | None) -> set[Line]:
    """Return the lines to which the kernels of a version of an op belong."""
    return {
        (kernel.device, str(value), kernel.label)
        for kernel in version.kernels
        for value in (kernel.constraints.get(type_attr or "") or ("",))
    }


def kernel_lines(builds: Sequence[Build], lines: dict[Line, set[int]]) -> list[KernelAvailability]:
    """Group the types of one device that have kernels in the same releases."""
    groups: dict[tuple[str, str, tuple[Span, ...]], list[str]] = {}
    for (device, dtype, label), numbers in lines.items():
        groups.setdefault((device, label, spans(builds, numbers)), []).append(dtype)
    entries = [
        KernelAvailability(device, tuple(sorted_types(dtype for dtype in types if dtype)), label, releases)
        for (device, label, releases), types in groups.items()
    ]
    order = [build.version for build in builds]
    return sorted(
        entries, key=lambda k: (device_order(k.device), k.label, order.index(k.releases[0].first), k.types)
    )


def sorted_types(types: Iterable[str]) -> list[str]:
    return sorted(types, key=lambda name: DType.parse(name).number)


def device_order(device: str) -> tuple[int, str]:
    """Sort the common devices first."""
    return DEVICES.index(device) if device in DEVICES else len(DEVICES), device


def with_kernels(atlas: Atlas, builds: Iterable[Build]) -> set[int]:
    """Return the numbers of builds whose kernels are recorded: every TensorFlow has one for Const."""
    recorded = 0
    for (bits,) in atlas.rows("SELECT builds FROM kernels WHERE op = 'Const'"):
        recorded |= int.from_bytes(bits, "little")
    return {build.number for build in builds if recorded >> build.number & 1}


# Kernels as text, and the union of those that differ in one attribute.


def kernel_text(kernel: Kernel, between: str = "; ") -> str:
    """Format the constraints of a kernel: `T=float32, int32; Tidx=int32`; `any` if there are none."""
    shown = [f"{name}={', '.join(map(value_text, values))}" for name, values in kernel.constraints.items()]
    shown += [f"label={kernel.label}"] if kernel.label else []
    return between.join(shown) or "any"


def kernel_key(kernel: Kernel) -> tuple[object, ...]:
    """Return a key that identifies a kernel among those of its op."""
    return kernel.device, kernel.label, tuple(sorted(kernel.constraints.items()))


def merged(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Merge kernels without changing what they cover: `T=float32` and `T=int32` become one."""
    merged_kernels = list(kernels)
    for name in dict.fromkeys(
        name for kernel in reversed(merged_kernels) for name in reversed(kernel.constraints)
    ):
        groups: dict[tuple[object, ...], list[Kernel]] = {}
        for kernel in merged_kernels:
            groups.setdefault(_apart_from(name)(kernel), []).append(kernel)
        merged_kernels = [_union(name, group) for group in groups.values()]
    return merged_kernels


def _apart_from(name: str) -> Callable[[Kernel], tuple[object, ...]]:
    """Return a key function that ignores the values of one attribute."""

    def key(kernel: Kernel) -> tuple[object, ...]:
        others = {n: v for n, v in kernel.constraints.items() if n != name}
        rest = kernel.host_memory, kernel.priority, name in kernel.constraints
        return *kernel_key(replace(kernel, constraints=others)), *rest

    return key


def _union(name: str, kernels: list[Kernel]) -> Kernel:
    first = kernels[0]
    if len(kernels) == 1:
        return first
    values = dict.fromkeys(value for kernel in kernels for value in kernel.constraints[name])
    return replace(first, constraints={**first.constraints, name: tuple(values)})
