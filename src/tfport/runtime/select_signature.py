"""The way into a model that a caller asked for: a signature of its own, or its placeholders and ends.

A frozen graph has no signatures; then what it must be fed are its placeholders, and what
it answers is what nothing in it reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.errors import Error
from tfport.graph.graph import Graph
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.graph.reach import loops

DEFAULT = "serving_default"
WHOLE_GRAPH = "graph"
"""The name of the signature that a graph without any gets."""
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")
_NO_ANSWERS = ("Const", "Placeholder", "PlaceholderV2", "VarHandleOp", "NoOp", "Assert")


def select_signature(model: Model, name: str | None = None, fetches: Sequence[str] = ()) -> Signature:
    """The signature of this name; without a name the usual one, or the only one, or the whole graph."""
    found = model.signatures
    if fetches:
        return _graph_signature(model, fetches)
    if name is not None:
        if name not in found:
            raise Error(f"{model.where}: no signature `{name}`; {_there(found)}")
        return found[name]
    if DEFAULT in found or len(found) == 1:
        return found.get(DEFAULT) or next(iter(found.values()))
    if found:
        raise Error(f"{model.where}: which signature? {_there(found)}")
    return _graph_signature(model, _ends(model.graph))


def _there(found: dict[str, Signature]) -> str:
    return f"there is {', '.join(found)}" if found else "it has none"


def _graph_signature(model: Model, fetches: Sequence[str]) -> Signature:
    if not fetches:
        raise Error(f"{model.where}: nothing in the graph is an answer; name tensors to fetch")
    names = [name if ":" in name else f"{name}:0" for name in fetches]
    placeholders = [node for node in model.graph if node.op in _PLACEHOLDERS]
    return Signature(
        WHOLE_GRAPH,
        "",
        {node.name: _spec(model, f"{node.name}:0") for node in placeholders},
        {name.removesuffix(":0"): _spec(model, name) for name in names},
    )


def _spec(model: Model, tensor: str) -> TensorSpec:
    value = model.graph.value(tensor)
    return TensorSpec((tensor,), value.dtype.base, value.shape)


def _ends(graph: Graph) -> list[str]:
    """What nothing reads, but for what a loop of TF1 has inside: no session answers with that."""
    found = loops(graph).values() if graph.has_branches else ()
    inside = {node for nodes in found for node in nodes if node.op not in ("Exit", "RefExit")}
    return [
        value.name
        for node in graph
        if node.op not in _NO_ANSWERS and node not in inside
        for value in node.outputs
        if not value.uses and value.dtype.name not in ("resource", "variant")
    ]
