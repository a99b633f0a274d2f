"""What keeps a target from running the nodes of one usage, in any graph.

`check.loaders` decides when a loader notices it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tfport.atlas.op_definitions import value_text
from tfport.atlas.target import Target
from tfport.check.devices import is_local, is_valid_name, kinds_of_devices
from tfport.check.kernel_differences import may_answer_otherwise, other_answers
from tfport.check.kernel_limits import has_limits, kernel_limits
from tfport.check.node_contexts import LOWER, NodesByContext
from tfport.check.placement import kind_of_device
from tfport.check.release_quirks import cannot_lower, has_xla_devices, knows_type, since
from tfport.check.xla_modules import XLA_PROGRAM, module_limits
from tfport.graph.attrs import Attr, decode
from tfport.graph.dtypes import DType
from tfport.graph.graph import Node
from tfport.graph.usage import LABEL, Usage
from tfport.registry.resolve import Resolver
from tfport.registry.unresolved import Question, Unresolved
from tfport.startup.dataclass import dataclass, field

CALLS = ("PartitionedCall", "StatefulPartitionedCall", "RemoteCall")
"""Ops that only call a function."""


@dataclass(slots=True)
class UnresolvedNodes:
    """Nodes that a target does not resolve for one reason."""

    target: Target
    usage: Usage
    answer: Unresolved
    producer: int = 0
    """The version of the GraphDef."""
    contexts: NodesByContext = field(default_factory=list)

    @property
    def op(self) -> str:
        return self.usage.op

    @property
    def nodes(self) -> list[Node]:
        return [node for _, nodes in self.contexts for node in nodes]

    def with_defaults(self) -> dict[str, Attr]:
        """The attributes of the nodes, with the target's defaults for those that are absent."""
        definition = self.target.registry.get(self.op)
        declared = definition.attr if definition is not None else ()
        defaults = {a.name: decode(a.default_value) for a in declared if a.HasField("default_value")}
        return {**defaults, **self.usage.attrs}

    def kernel_types(self) -> str:
        """The attributes that choose a kernel, with their values: `T=int8, label eigen`."""
        attrs = self.with_defaults()
        names = dict.fromkeys(name for kernel in self.answer.kernels for name in kernel.constraints)
        types = [f"{name}={_value(attrs[name])}" for name in names if name in attrs]
        return ", ".join([*types, *([f"label {attrs[LABEL]}"] if LABEL in attrs else [])])


def _value(value: Attr) -> str:
    return ", ".join(map(value_text, value)) if isinstance(value, list) else value_text(value)


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
