"""Remove what the outputs do not need: training, saving, summaries, unused functions."""

from __future__ import annotations

from collections.abc import Iterable

from tfport.fix.journal import Journal
from tfport.graph.graph import Graph, Node
from tfport.graph.model import Model
from tfport.graph.reach import called_by, needed_by

SUMMARIES = (
    "AudioSummary", "AudioSummaryV2", "HistogramSummary", "ImageSummary", "MergeSummary", "ScalarSummary",
    "TensorSummary", "TensorSummaryV2", "WriteAudioSummary", "WriteGraphSummary", "WriteHistogramSummary",
    "WriteImageSummary", "WriteRawProtoSummary", "WriteScalarSummary", "WriteSummary",
)  # fmt: skip
ASSERTS = ("Assert",)


def prune(model: Model, ends: Iterable[Node], journal: Journal) -> None:
    """Keep only what these nodes need, the inputs of signatures, and the functions that are called."""
    fed = [
        node
        for signature in model.signatures.values()
        for spec in signature.inputs.values()
        for name in spec.tensors
        if (node := model.graph.find(name.partition(":")[0])) is not None
    ]
    removed = model.graph.prune(needed_by([*ends, *fed]))
    journal.changed("pruned", "Nodes that no signature needs are removed.", [(n.name, n.op) for n in removed])
    drop_functions(model.graph, journal)


def drop_functions(graph: Graph, journal: Journal, keep: Iterable[str] = ()) -> None:
    """Remove functions that nothing calls, with their gradients."""
    library = graph.library
    named = [library.functions[name] for name in keep if name in library.functions]
    called = called_by(graph)
    for function in named:
        called |= {function.name: function, **called_by(function)}
    lost = [name for name in library.functions if name not in called]
    for name in lost:
        del library.functions[name]
    kept = [g for g in library.rest.gradient if g.function_name in called and g.gradient_func in called]
    library.rest.ClearField("gradient")
    library.rest.gradient.extend(kept)
    journal.changed("without functions", "Functions that nothing calls are removed.", [(n, n) for n in lost])


def disable(nodes: Iterable[Node], ops: Iterable[str]) -> list[tuple[str, str]]:
    """Turn asserts or summaries into NoOp nodes; returns the changed nodes."""
    changed = []
    for node in list(nodes):
        if node.op in ops and not node.read_outputs:
            changed.append((node.name, node.op))
            node.set_inputs(())
            node.become("NoOp", {})
    return changed
