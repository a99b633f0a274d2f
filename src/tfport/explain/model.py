"""Find the nodes of a model that a message is about, and what `check` reports about them."""

from __future__ import annotations

from functools import cached_property

from tfport.atlas.target import Target
from tfport.check.check import Result, check_on
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import Finding
from tfport.check.loaders import default_loaders, is_refused_by_serving
from tfport.check.node_contexts import NodeContexts
from tfport.explain.lookup import MessageMatch
from tfport.graph.graph import Node
from tfport.graph.model import Model
from tfport.graph.reach import every_node
from tfport.startup.dataclass import dataclass

EXAMPLES = 3
NAMES = ("node", "where", "source", "variable", "tensor")


@dataclass(frozen=True)
class AffectedNode:
    """A node that a message is about."""

    node: str
    op: str
    function: str | None
    signatures: list[str]
    """The signatures that run it."""
    loading: bool
    """Whether loading the model runs it."""


@dataclass(frozen=True)
class AffectedNodes:
    """The nodes of a model that a message is about."""

    count: int
    examples: list[AffectedNode]
    predicted: list[str]
    """What `check` reports about these nodes on the target."""


class ModelContext:
    """A model and an optional target, whose results are cached."""

    def __init__(self, model: Model, target: Target | None) -> None:
        self._model, self._target = model, target
        self._places = NodeContexts(model)

    def affected(self, match: MessageMatch) -> AffectedNodes | None:
        """The nodes that the message names, or else the nodes of its op; None if it names neither."""
        names = {
            *match.nodes,
            *(match.names[name].partition(":")[0] for name in NAMES if name in match.names),
        }
        op = match.op
        if not names and op is None:
            return None
        all_nodes = list(every_node(self._model.graph))
        nodes = [node for node in all_nodes if node.name in names]
        nodes = nodes or [node for node in all_nodes if node.op == op]
        return AffectedNodes(
            len(nodes), [self._affected_node(n) for n in nodes[:EXAMPLES]], self._predicted(set(nodes))
        )

    def _affected_node(self, node: Node) -> AffectedNode:
        place = self._places.of(node)
        return AffectedNode(
            node.name, node.op, place.function, sorted(filter(None, place.signatures)), place.loading
        )

    def _predicted(self, nodes: set[Node]) -> list[str]:
        sentences = (
            _sentence(finding, result.loaders)
            for result in self._results
            for finding in result.findings
            if nodes.intersection(finding.nodes)
        )
        return list(dict.fromkeys(sentences))

    @cached_property
    def _results(self) -> list[Result]:
        if self._target is None:
            return []
        # the message shows that something loaded the graph: Serving too, from the SavedModel it is a part of
        loaders = default_loaders(self._target) if is_refused_by_serving(self._model, self._target) else None
        return check_on(CheckedModel(self._model), self._target, loaders)


def _sentence(finding: Finding, loaders: tuple[str, ...]) -> str:
    when = f"fails at {finding.stage}" if finding.stage else "no requested signature is affected"
    return f"{finding.code} {finding.message}: {when} ({', '.join(loaders)})"
