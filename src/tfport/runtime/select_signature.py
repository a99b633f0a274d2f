"""Select the signature to run: one of the model's, or one made of its placeholders and outputs.

A frozen graph has no signatures: its inputs are its placeholders, and its outputs are the tensors
that no node reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.errors import Error
from tfport.graph.graph import Graph
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.graph.reach import loops

DEFAULT = "serving_default"
WHOLE_GRAPH = "graph"
"""The name of the signature that is made for a graph without any."""
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")
_NOT_OUTPUTS = ("Const", "Placeholder", "PlaceholderV2", "VarHandleOp", "NoOp", "Assert")


def select_signature(model: Model, name: str | None = None, fetches: Sequence[str] = ()) -> Signature:
    """The signature of this name; by default `serving_default`, or the only one, or the whole graph."""
    signatures = model.signatures
    if fetches:
        return _graph_signature(model, fetches)
    if name is not None:
        if name not in signatures:
            raise Error(f"{model.where}: no signature `{name}`; {_existing(signatures)}")
        return signatures[name]
    if DEFAULT in signatures or len(signatures) == 1:
        return signatures.get(DEFAULT) or next(iter(signatures.values()))
    if signatures:
        raise Error(
            f"{model.where}: there is no {DEFAULT}; name the signature to run; {_existing(signatures)}"
        )
    return _graph_signature(model, _ends(model.graph))


def _existing(signatures: dict[str, Signature]) -> str:
    return f"signatures: {', '.join(signatures) or 'none'}"


def _graph_signature(model: Model, fetches: Sequence[str]) -> Signature:
    if not fetches:
        raise Error(f"{model.where}: the graph has no outputs; name the tensors to fetch")
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
    """Tensors that no node reads, except those inside TF1 loops, which cannot be fetched."""
    bodies = loops(graph).values() if graph.has_branches else ()
    inside = {node for nodes in bodies for node in nodes if node.op not in ("Exit", "RefExit")}
    return [
        value.name
        for node in graph
        if node.op not in _NOT_OUTPUTS and node not in inside
        for value in node.outputs
        if not value.uses and value.dtype.name not in ("resource", "variant")
    ]
