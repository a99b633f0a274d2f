"""What the nodes of a main graph are for: each signature, loading, saving, the rest.

A node belongs to every signature that needs it. One that no signature needs belongs to one other part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tfport.graph.graph import Node
from tfport.graph.graph_outputs import graph_outputs
from tfport.graph.model import Model
from tfport.graph.reach import needed_by
from tfport.startup.dataclass import dataclass

SIGNATURE, LOADING, SAVING, REST = "signature", "loading", "saving", "rest"
MOST_SIGNATURES = 100


@dataclass(frozen=True, slots=True)
class GraphPart:
    """Nodes of a graph with one purpose."""

    kind: str
    """`signature`, `loading`, `saving` or `rest`: training, and nodes that nothing uses."""
    name: str
    """Of a signature; empty for the outputs that were guessed."""
    nodes: list[int]

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "nodes": self.nodes}


def main_parts(model: Model, index: dict[Node, int]) -> list[GraphPart]:
    """The parts of the main graph, by the indices of its nodes."""
    return list(_parts(model, index))


def _parts(model: Model, index: dict[Node, int]) -> Iterator[GraphPart]:
    seen: set[Node] = set()
    guessed = graph_outputs(model)
    signatures = {"": guessed.signature} if guessed is not None else model.signatures
    for name, signature in list(signatures.items())[:MOST_SIGNATURES]:
        starts = model.starts_of(signature)
        nodes = needed_by({value.node for value in model.ends_of(signature)}, starts)
        nodes |= {value.node for value in starts}
        seen |= nodes
        yield GraphPart(SIGNATURE, name, _indices(nodes, index))
    for kind, last in ((LOADING, model.init_nodes + model.restore_nodes), (SAVING, model.save_nodes)):
        nodes = needed_by(last) - seen
        seen |= nodes
        yield GraphPart(kind, "", _indices(nodes, index))
    yield GraphPart(REST, "", _indices((node for node in index if node not in seen), index))


def _indices(nodes: Iterable[Node], index: dict[Node, int]) -> list[int]:
    return sorted(index[node] for node in nodes if node in index)
