"""The outputs of a graph that no signature names: those that the user fetches, or a guess.

outputs = graph_outputs(model)                    a guess, for a graph without signatures
outputs = graph_outputs(model, ["logits:0"])      what the user fetches, from any graph
outputs.signature                                 the same as a signature: inputs and outputs
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tfport.errors import Error
from tfport.graph.graph import Value
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.graph.reach import needed_by
from tfport.startup.dataclass import dataclass

WHOLE_GRAPH = "graph"
"""The name of the signature that is created for a graph without any."""
_FED = ("Placeholder", "PlaceholderV2")
_MOST_SIMILAR = 3


@dataclass(frozen=True, slots=True)
class GraphOutputs:
    """The outputs of a graph, and the inputs that they need."""

    signature: Signature
    guessed: bool
    """Whether tfport guessed them; otherwise the user named them."""
    needed: int
    """The number of nodes of the main graph that they need."""
    unneeded: int
    """The number of nodes that neither they nor loading and saving need: training and unused nodes."""

    @property
    def fetches(self) -> list[str]:
        """The names of the output tensors."""
        return [name for spec in self.signature.outputs.values() for name in spec.tensors]

    @property
    def feeds(self) -> list[str]:
        """The names of the input tensors."""
        return [name for spec in self.signature.inputs.values() for name in spec.tensors]


def graph_outputs(
    model: Model, fetches: Sequence[str] = (), feeds: Iterable[str] = ()
) -> GraphOutputs | None:
    """The fetched outputs, or a guess; None if the model has signatures, or no tensor can be an output.

    `feeds` are tensors that are fed: what computes them is not needed. The placeholders that are
    needed are inputs as well.
    """
    if not fetches and model.signatures:
        if fed := next(iter(feeds), None):
            raise Error(f"`{fed}` is fed, but nothing is fetched; name the tensors to fetch too")
        return None
    ends = {_short(name): _tensor(model, name, "fetch") for name in fetches or _guess(model)}
    if not ends:
        return None
    fed_values = {_short(name): _tensor(model, name, "feed") for name in feeds}
    needed = needed_by((value.node for value in ends.values()), fed_values.values())
    placeholders = {node.name: node.output(0) for node in model.graph if node.op in _FED and node in needed}
    signature = Signature(
        WHOLE_GRAPH,
        "",
        {name: _spec(value) for name, value in {**placeholders, **fed_values}.items()},
        {name: _spec(value) for name, value in ends.items()},
    )
    loading = needed_by([*model.restore_nodes, *model.init_nodes, *model.save_nodes])
    unneeded = sum(node not in needed and node not in loading for node in model.graph)
    return GraphOutputs(signature, not fetches, sum(node in needed for node in model.graph), unneeded)


def _short(name: str) -> str:
    """The name of an output without `:0`."""
    return name.removesuffix(":0")


def _guess(model: Model) -> list[str]:
    from tfport.graph.inference_outputs import guess_outputs  # here, as few models have no signatures

    return guess_outputs(model)


def _tensor(model: Model, name: str, purpose: str) -> Value:
    if model.has_tensor(name):
        return model.graph.value(name)
    base = name.partition(":")[0]
    node = model.graph.find(base)
    if node is not None:
        advice = f"{node.op} `{base}` has {len(node.outputs)} outputs"
    else:
        part = base.rpartition("/")[2].lower()
        similar = [node.name for node in model.graph if part and part in node.name.lower()][:_MOST_SIMILAR]
        advice = f"similar: {', '.join(similar)}" if similar else "`tfport inspect` shows the outputs"
    raise Error(f"{model.where}: there is no tensor `{name}` to {purpose}; {advice}")


def _spec(value: Value) -> TensorSpec:
    return TensorSpec((value.name,), value.dtype.base, value.shape)
