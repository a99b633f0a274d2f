"""Count the ops of a model by purpose: each signature, loading, saving, the rest.

A node belongs to every signature that needs it. A node that no signature needs is
counted once, under loading (restore, tables), saving, or the rest: training and
unused nodes. The body of a function counts wherever it is called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tfport.graph.graph import Node, Value
from tfport.graph.graph_outputs import GraphOutputs
from tfport.graph.model import Model
from tfport.graph.reach import called_by, every_node, needed_by
from tfport.startup.dataclass import dataclass, field

MOST_VISITS = 10_000_000


@dataclass
class OpCounts:
    """The number of nodes of each op, by purpose."""

    signatures: dict[str, Counter[str]] = field(default_factory=dict)
    loading: Counter[str] = field(default_factory=Counter)
    saving: Counter[str] = field(default_factory=Counter)
    rest: Counter[str] = field(default_factory=Counter)
    """Training and unused nodes; in a model without signatures and outputs, all nodes."""
    total: Counter[str] = field(default_factory=Counter)
    uncounted: list[str] = field(default_factory=list)
    """Signatures that are not counted, because counting them all would take too long."""


def count_ops(model: Model, outputs: GraphOutputs | None = None) -> OpCounts:
    """Count the ops of a model; with outputs, these are counted instead of the signatures, as `""`."""
    signatures = model.signatures if outputs is None else {"": outputs.signature}
    out = OpCounts(total=Counter(node.op for node in every_node(model.graph)))
    seen: set[Node] = set()
    counted: dict[tuple[frozenset[Node], frozenset[Value]], Counter[str]] = {}
    visits = 0
    for name, signature in signatures.items():
        computed = frozenset(value for value in model.starts_of(signature) if value.node.inputs)
        ends = frozenset(value.node for value in model.ends_of(signature))
        if (ends, computed) not in counted:
            if visits > MOST_VISITS:
                out.uncounted.append(name)
                continue
            nodes = _with_bodies(needed_by(ends, computed))
            counted[ends, computed] = Counter(node.op for node in nodes)
            visits += len(nodes)
            seen |= nodes
        out.signatures[name] = counted[ends, computed]
    for counter, last in (
        (out.loading, model.init_nodes + model.restore_nodes),
        (out.saving, model.save_nodes),
    ):
        nodes = _with_bodies(needed_by(last)) - seen
        counter.update(node.op for node in nodes)
        seen |= nodes
    out.rest.update(node.op for node in every_node(model.graph) if node not in seen)
    return out


def _with_bodies(nodes: Iterable[Node]) -> set[Node]:
    """The defined nodes among these, and the bodies of the functions that they call."""
    defined = {node for node in nodes if node.op}
    return defined.union(*called_by(defined).values())
