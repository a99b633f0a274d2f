"""The kernels of an op over time, summarized by device, types, label and releases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfport.atlas.atlas import Atlas, Build, OpVersion
from tfport.atlas.release_spans import Span, spans
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.dtypes import DType
from tfport.registry.kernels import Kernel
from tfport.startup.dataclass import dataclass

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
    for (device, kind, label), numbers in lines.items():
        groups.setdefault((device, label, spans(builds, numbers)), []).append(kind)
    entries = [
        KernelAvailability(device, tuple(sorted_types(kind for kind in types if kind)), label, releases)
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
