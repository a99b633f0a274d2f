"""Which nodes of a model is a message about, and what does `check` say of them?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tfport.atlas.target import Target
from tfport.check.check import Result, check_on
from tfport.check.checked_model import CheckedModel
from tfport.check.explain.lookup import MessageMatch
from tfport.check.findings.finding import Finding
from tfport.check.node_contexts import NodeContexts
from tfport.graph.census import every_node
from tfport.graph.graph import Node
from tfport.graph.model import Model

EXAMPLES = 3
NAMES = ("node", "where", "source", "variable", "tensor")


@dataclass(frozen=True)
class AffectedNode:
    """A node that a message is about."""

    node: str
    op: str
    function: str | None
    signatures: list[str]
    """Those that run it."""
    loading: bool
    """Whether loading the model runs it."""


@dataclass(frozen=True)
class AffectedNodes:
    """What a model has to do with a message."""

    count: int
    examples: list[AffectedNode]
    foretold: list[str]
    """What `check` says of these nodes on the target."""


class ModelContext:
    """A model, and a target if one was asked about; what is found out about them is kept."""

    def __init__(self, model: Model, target: Target | None) -> None:
        self._model, self._target = model, target
        self._places = NodeContexts(model)

    def concerned(self, said: MessageMatch) -> AffectedNodes | None:
        """The nodes with a name in the message, or else with its op; None where it has neither."""
        names = {*said.nodes, *(said.names[name].partition(":")[0] for name in NAMES if name in said.names)}
        op = said.op
        if not names and op is None:
            return None
        everywhere = list(every_node(self._model.graph))
        nodes = [node for node in everywhere if node.name in names]
        nodes = nodes or [node for node in everywhere if node.op == op]
        return AffectedNodes(
            len(nodes), [self._where(n) for n in nodes[:EXAMPLES]], self._foretold(set(nodes))
        )

    def _where(self, node: Node) -> AffectedNode:
        place = self._places.of(node)
        return AffectedNode(
            node.name, node.op, place.function, sorted(filter(None, place.signatures)), place.loading
        )

    def _foretold(self, nodes: set[Node]) -> list[str]:
        told = (
            _sentence(finding, result.loaders)
            for result in self._results
            for finding in result.findings
            if nodes.intersection(finding.nodes)
        )
        return list(dict.fromkeys(told))

    @cached_property
    def _results(self) -> list[Result]:
        return check_on(CheckedModel(self._model), self._target) if self._target else []


def _sentence(finding: Finding, loaders: tuple[str, ...]) -> str:
    when = f"fails at {finding.stage}" if finding.stage else "nothing that was asked for notices"
    return f"{finding.code} {finding.message}: {when} ({', '.join(loaders)})"
