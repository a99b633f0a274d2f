"""Everything that keeps a target from running the nodes of one usage, wherever they stand.

When a loader would notice is decided elsewhere: `check.loaders`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfport.atlas.target import Target
from tfport.check.devices import is_here, is_name, kinds_of_devices
from tfport.check.findings.functions import CALLS
from tfport.check.findings.kernel_limits import refusals
from tfport.check.node_contexts import LOWER
from tfport.check.release_quirks import cannot_lower, has_xla_devices, knows_type, since
from tfport.graph.dtypes import DType
from tfport.graph.usage import Usage
from tfport.registry.resolve import Resolver
from tfport.registry.unresolved import Question, Unresolved


def unresolved_usage(
    usage: Usage, target: Target, resolver: Resolver, producer: int, newer: Iterable[tuple[str, DType]]
) -> Iterator[Unresolved]:
    """Each reason; `newer` are its attributes with types of elements that not every release has."""
    for name, dtype in newer:
        if not knows_type(target, dtype):
            # kernels of XLA list the types that a call may have: an unknown one cannot be compared
            listed = usage.op in CALLS and has_xla_devices(target) and since(target, "1.14")
            yield Unresolved(Question.DATA_TYPE, name, dtype, structural=listed)
    yield from resolver.unresolved(usage, target.registry, kinds_of_devices(target), producer)
    yield from refusals(usage, target)
    if usage.device and not is_name(usage.device):
        yield Unresolved(Question.DEVICE_NAME, actual=usage.device)
    elif usage.device and not is_here(usage.device):
        yield Unresolved(Question.JOB, actual=usage.device)
    if usage.op in cannot_lower(target) and any(n.attrs.get(LOWER) is True for n in usage.nodes):
        yield Unresolved(Question.LOWERING)
