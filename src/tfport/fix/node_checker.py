"""Whether a target runs a single node, with its device and types, and why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tfport.atlas.target import Target
from tfport.check.kernel_limits import ignored_attributes
from tfport.check.release_quirks import fills_defaults_in_functions, newer_types
from tfport.check.unresolved_usage import unresolved_usage
from tfport.fix.facts import Facts
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.graph import Function, Node
from tfport.graph.usage import Usage
from tfport.registry.resolve import Resolver
from tfport.registry.unresolved import Question, Unresolved

HARMLESS = frozenset((Question.OUTDATED, Question.DEVICE, Question.JOB, Question.DEVICE_NAME))
"""Questions that need no rule: a deprecated op still runs, and devices are removed from all nodes."""


@dataclass(eq=False, slots=True)
class KnownUsage(Usage):
    """A node with more known shapes than its file states."""

    facts: Facts | None = None

    def dims(self, node: Node, place: int) -> tuple[int | None, ...] | None:
        if self.facts is None or place >= len(node.inputs):
            return None
        return self.facts.shape(node.inputs[place]).dims


class NodeChecker:
    """Checks single nodes against a target."""

    def __init__(self, target: Target, producer: int) -> None:
        self.target, self.producer = target, producer
        self.facts = Facts()
        self._resolver = Resolver()
        self._fills_defaults = fills_defaults_in_functions(target)
        self._asked: list[Usage] = []  # the resolver knows them by identity

    def unresolved(self, node: Node) -> Sequence[Unresolved]:
        """Why the target does not run a node; empty if it does."""
        if node.op in node.graph.library.functions:
            return ()
        usage = KnownUsage(node, tuple(value.dtype for value in node.inputs), [node], self.facts)
        self._asked.append(usage)
        problems = unresolved_usage(
            usage, self.target, self._resolver, self.producer, newer_types(node.attrs)
        )
        unresolved = (*problems, *ignored_attributes(usage, self.target), *self._missing_defaults(node))
        return [reason for reason in unresolved if reason.question not in HARMLESS]

    def _missing_defaults(self, node: Node) -> Iterator[Unresolved]:
        """Attributes that a function must state even though they have defaults."""
        definition = self.definition(node.op)
        if definition is None or not isinstance(node.graph, Function) or self._fills_defaults:
            return
        for attr in definition.attr:
            if attr.HasField("default_value") and attr.name not in node.attrs:
                yield Unresolved(Question.DEFAULT_ATTR, attr.name, expected=attr.type)

    def definition(self, op: str) -> OpDef | None:
        """The target's definition of an op; None if it does not register the op."""
        return self.target.registry.get(op)
