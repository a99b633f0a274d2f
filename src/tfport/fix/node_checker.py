"""Whether a target runs a single node, with its device and types, and why not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tfport.atlas.target import Target
from tfport.check.checked_model import unresolved_usage
from tfport.check.devices import plain_devices
from tfport.check.kernel_differences import ops_with_other_answers
from tfport.check.kernel_limits import has_limits
from tfport.check.release_quirks import cannot_lower, fills_defaults_in_functions, newer_types
from tfport.fix.facts import Facts
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.graph.dtypes import INVALID, DType
from tfport.graph.graph import Function, Node
from tfport.graph.usage import Usage, usage_key, usages
from tfport.registry.resolve import Resolver
from tfport.registry.unresolved import Question, Unresolved
from tfport.startup.dataclass import dataclass

HARMLESS = frozenset((Question.OUTDATED, Question.DEVICE, Question.JOB, Question.DEVICE_NAME))
"""Questions that need no rule: a deprecated op still runs, and devices are removed from all nodes."""


@dataclass(eq=False, slots=True)
class KnownUsage(Usage):
    """A node with more known shapes than its file states."""

    facts: Facts | None = None

    def dims(self, node: Node, index: int) -> tuple[int | None, ...] | None:
        if self.facts is None or index >= len(node.inputs):
            return None
        return self.facts.shape(node.inputs[index]).dims


class NodeChecker:
    """Checks single nodes against a target."""

    def __init__(self, target: Target, producer: int) -> None:
        self.target, self.producer = target, producer
        self.facts = Facts()
        self._resolver = Resolver()
        self._other_answers = ops_with_other_answers(target)
        self._fills_defaults = fills_defaults_in_functions(target)
        self._resolved: set[tuple[object, ...]] = set()
        """Usages that the target runs; without ops for which more than that matters."""
        self._asked: list[Usage] = []  # the resolver knows them by identity

    def unresolved(self, node: Node) -> Sequence[Unresolved]:
        """Why the target does not run a node; empty if it does."""
        if node.op in node.graph.library.functions:
            return ()
        inputs = tuple(value.dtype for value in node.inputs)
        if self._depends_on_more(node.op) or node.op in cannot_lower(self.target):
            return self._ask(node, inputs)
        key = (usage_key(node), inputs, isinstance(node.graph, Function))
        if key in self._resolved:
            return ()
        problems = self._ask(node, inputs)
        if not problems:
            self._resolved.add(key)
        return problems

    def resolved(self, nodes: Iterable[Node]) -> set[Node]:
        """Those of the nodes that the target runs, as far as that is known without looking at each alone."""
        return {
            node
            for usage in usages(nodes)
            if not self._depends_on_more(usage.op)
            and INVALID not in usage.inputs
            and not self._problems(usage)
            for node in usage.nodes
            if not any(self._missing_defaults(node))
        }

    def _ask(self, node: Node, inputs: tuple[DType, ...]) -> Sequence[Unresolved]:
        usage = KnownUsage(node, inputs, [node], self.facts)
        return [*self._problems(usage), *self._missing_defaults(node)]

    def _problems(self, usage: Usage) -> list[Unresolved]:
        self._asked.append(usage)
        newer = newer_types(usage.attrs)
        in_function = any(isinstance(node.graph, Function) for node in usage.nodes)
        devices = plain_devices(self.target) if in_function else None
        problems = unresolved_usage(usage, self.target, self._resolver, self.producer, newer, devices)
        return [problem for problem in problems if problem.question not in HARMLESS]

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

    def _depends_on_more(self, op: str) -> bool:
        """Whether more than the types of a node decides whether a kernel computes it."""
        return has_limits(op) or op in self._other_answers
