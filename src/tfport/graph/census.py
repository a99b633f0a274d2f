"""Which ops a model uses, and what for: each signature, loading, saving, the rest.

A node belongs to every signature that needs it. What no signature needs is
counted once, as loading (restore, tables), saving, or the rest: training, and
what nothing calls. The body of a function counts wherever it is called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from tfport.graph.graph import Graph, Node
from tfport.graph.model import Model
from tfport.graph.reach import called_by, needed_by

MOST_VISITS = 10_000_000


@dataclass
class Census:
    """How often each op stands, by what it is for."""

    signatures: dict[str, Counter[str]] = field(default_factory=dict)
    loading: Counter[str] = field(default_factory=Counter)
    saving: Counter[str] = field(default_factory=Counter)
    rest: Counter[str] = field(default_factory=Counter)
    """Training, and what nothing calls; in a model without signatures, everything."""
    total: Counter[str] = field(default_factory=Counter)
    uncounted: list[str] = field(default_factory=list)
    """Signatures left out because there are more than any real model has."""


def census(model: Model) -> Census:
    """Count the ops of a model."""
    out = Census(total=Counter(node.op for node in every_node(model.graph)))
    seen: set[Node] = set()
    counted: dict[frozenset[Node], Counter[str]] = {}
    visits = 0
    for name, signature in model.signatures.items():
        ends = frozenset(value.node for value in model.ends_of(signature))
        if ends not in counted:
            if visits > MOST_VISITS:
                out.uncounted.append(name)
                continue
            nodes = _with_bodies(needed_by(ends))
            counted[ends] = Counter(node.op for node in nodes)
            visits += len(nodes)
            seen |= nodes
        out.signatures[name] = counted[ends]
    for counter, last in (
        (out.loading, model.init_nodes + model.restore_nodes),
        (out.saving, model.save_nodes),
    ):
        nodes = _with_bodies(needed_by(last)) - seen
        counter.update(node.op for node in nodes)
        seen |= nodes
    out.rest.update(node.op for node in every_node(model.graph) if node not in seen)
    return out


def every_node(graph: Graph) -> Iterable[Node]:
    """The nodes of the main graph and of all functions."""
    return chain(graph, *graph.library.functions.values())


def _with_bodies(nodes: Iterable[Node]) -> set[Node]:
    """Nodes of the file among these, and the bodies of the functions that they call."""
    there = {node for node in nodes if node.op}
    return there.union(*called_by(there).values())
