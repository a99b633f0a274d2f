"""What keeps a target from running the nodes of one usage, in any graph.

`check.loaders` decides when a loader notices it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfport.atlas.target import Target
from tfport.check.devices import is_local, is_valid_name, kinds_of_devices
from tfport.check.kernel_differences import may_answer_otherwise, other_answers
from tfport.check.kernel_limits import has_limits, kernel_limits
from tfport.check.node_contexts import LOWER
from tfport.check.placement import kind_of_device
from tfport.check.release_quirks import cannot_lower, has_xla_devices, knows_type, since
from tfport.check.xla_modules import XLA_PROGRAM, module_limits
from tfport.graph.dtypes import DType
from tfport.graph.usage import Usage
from tfport.registry.resolve import Resolver
from tfport.registry.unresolved import Question, Unresolved

CALLS = ("PartitionedCall", "StatefulPartitionedCall", "RemoteCall")
"""Ops that only call a function."""


def depends_on_release(op: str) -> bool:
    """Whether kernels of an op differ between releases by more than what they register."""
    return has_limits(op) or may_answer_otherwise(op) or op == XLA_PROGRAM


def unresolved_usage(
    usage: Usage,
    target: Target,
    resolver: Resolver,
    producer: int,
    newer: Iterable[tuple[str, DType]],
    devices: tuple[str, ...] | None = None,
) -> Iterator[Unresolved]:
    """Everything unresolved; `newer` are the attributes with data types that not every release has.

    `devices` are the kinds of devices that may run it (default: all of the target).
    """
    for name, dtype in newer:
        if not knows_type(target, dtype):
            # XLA kernels list the types that a call may have; an unknown type cannot be compared
            listed = usage.op in CALLS and has_xla_devices(target) and since(target, "1.14")
            yield Unresolved(Question.DATA_TYPE, name, dtype, structural=listed)
    yield from resolver.unresolved(usage, target.registry, devices or kinds_of_devices(target), producer)
    if depends_on_release(usage.op):
        kind = kind_of_device(usage, target, resolver, producer)
        yield from kernel_limits(usage, target, kind)
        yield from other_answers(usage, target)
        yield from module_limits(usage, target, kind)
    if usage.device and not is_valid_name(usage.device):
        yield Unresolved(Question.DEVICE_NAME, actual=usage.device)
    elif usage.device and not is_local(usage.device):
        yield Unresolved(Question.JOB, actual=usage.device)
    if usage.op in cannot_lower(target) and any(n.attrs.get(LOWER) is True for n in usage.nodes):
        yield Unresolved(Question.LOWERING)
