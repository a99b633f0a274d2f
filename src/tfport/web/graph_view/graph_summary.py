"""A graph of a model without its nodes, and the kinds of graphs."""

from __future__ import annotations

from typing import Any

from tfport.startup.dataclass import dataclass, field

GRAPH, FUNCTION, BRANCH, LOOP, SUBGRAPH, LAYERS = "graph", "function", "branch", "loop", "subgraph", "layers"


@dataclass(frozen=True, slots=True)
class GraphSummary:
    """A graph of a model, without its nodes."""

    id: str
    name: str
    """The name of the function, subgraph or model; empty for a main graph."""
    kind: str
    nodes: int
    callers: int = 0
    signatures: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "kind": self.kind,
            "nodes": self.nodes,
            "callers": self.callers,
            "signatures": self.signatures,
        }
