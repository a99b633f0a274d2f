"""A kernel: the device, types and label for which a runtime can run an op."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from tfport.formats.proto import kernel_pb2 as pb
from tfport.formats.proto.graph_pb2 import AttrValue
from tfport.graph.attrs import Attr, decode
from tfport.startup.dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of an op: the device, types and label for which a runtime can run it."""

    op: str
    device: str
    """`CPU`, `GPU`, `XLA_CPU_JIT`, …"""
    constraints: dict[str, tuple[Attr, ...]] = field(default_factory=dict)
    """The allowed values of attributes; other attributes may have any value."""
    host_memory: tuple[str, ...] = ()
    """Arguments that stay in host memory."""
    label: str = ""
    priority: int = 0


_KNOWN: dict[bytes, Kernel] = {}
"""By their records: the sets of kernels of different releases have most of them in common."""


def kernels_from(records: Iterable[pb.KernelDef]) -> list[Kernel]:
    """Kernels from the list that TensorFlow prints of itself."""
    kernels: list[Kernel] = []
    for record in records:
        written = record.SerializeToString()
        if written not in _KNOWN:
            _KNOWN[written] = _kernel(record)
        kernels.append(_KNOWN[written])
    return kernels


def _kernel(record: pb.KernelDef) -> Kernel:
    return Kernel(
        op=record.op,
        device=record.device_type,
        constraints={c.name: _allowed(c.allowed_values.SerializeToString()) for c in record.constraint},
        host_memory=tuple(record.host_memory_arg),
        label=record.label,
        priority=record.priority,
    )


@functools.lru_cache(4096)
def _allowed(values: bytes) -> tuple[Attr, ...]:
    """The allowed values of an attribute; few lists are shared by most kernels."""
    return tuple(decode(AttrValue.FromString(values)))
