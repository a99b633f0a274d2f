"""Select the signature to run: one of the model's, or one made of its placeholders and outputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfport.errors import Error
from tfport.graph.graph_outputs import graph_outputs
from tfport.graph.model import Model, Signature

DEFAULT = "serving_default"


def select_signature(
    model: Model, name: str | None = None, fetches: Sequence[str] = (), feeds: Iterable[str] = ()
) -> Signature:
    """The signature of this name; by default `serving_default`, or the only one, or the outputs of the graph.

    With `fetches`, the signature that computes these tensors. `feeds` are tensors of the graph
    that are fed besides the placeholders.
    """
    model.require_graph()
    signatures = model.signatures
    if fetches or not (signatures or name):
        outputs = graph_outputs(model, fetches, feeds)
        if outputs is None:
            raise Error(f"{model.where}: the graph has no outputs; name the tensors to fetch")
        return outputs.signature
    if name is not None:
        if name not in signatures:
            raise Error(f"{model.where}: no signature `{name}`; {_existing(signatures)}")
        return signatures[name]
    if DEFAULT in signatures or len(signatures) == 1:
        return signatures.get(DEFAULT) or next(iter(signatures.values()))
    raise Error(f"{model.where}: there is no {DEFAULT}; name the signature to run; {_existing(signatures)}")


def _existing(signatures: dict[str, Signature]) -> str:
    return f"signatures: {', '.join(signatures) or 'none'}"
