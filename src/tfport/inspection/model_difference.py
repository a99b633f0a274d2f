"""What differs between two models: metadata, signatures, ops, graphs and weights.

Graphs are compared by structure (`graph.difference`), weights by value: those with the same name, then those
with the same content under another name. One array of each model is in memory at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tfport.errors import Error
from tfport.formats.files import release_mapped
from tfport.formats.saved_model.read import ASSETS
from tfport.frontends.model_weights import ModelWeight, model_weights
from tfport.graph.difference import GraphDifference, graph_difference, match_functions
from tfport.graph.model import Model, TensorSpec
from tfport.inspection.inspection import Inspection, inspect_model
from tfport.rendering import RenderedResult
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from tfport.atlas.known_ops import KnownOps

ADDED, GONE, CHANGED, RENAMED = "added", "gone", "changed", "renamed"
MAIN = ""


@dataclass(frozen=True, slots=True)
class PartDifference:
    """Something that only one model has, or that differs."""

    kind: str
    name: str
    what: str = ""


@dataclass(frozen=True, slots=True)
class ComparedGraph:
    """The main graph (both names are empty) or a function of both models."""

    a: str
    b: str
    difference: GraphDifference


@dataclass(frozen=True, repr=False)
class ModelDifference(RenderedResult):
    """What differs between model a and model b."""

    a: str
    b: str
    metadata: list[PartDifference]
    signatures: list[PartDifference]
    ops: list[PartDifference]
    graphs: list[ComparedGraph]
    """The graphs that both have; those that differ only in names are among them."""
    functions: list[PartDifference]
    """Functions that only one of them has."""
    weights: list[PartDifference]
    same_weights: int
    not_compared: str = ""
    """Why the graphs were not compared."""

    @property
    def is_equal(self) -> bool:
        """Whether the models do the same work: names of nodes, functions and weights may differ."""
        changed = [weight for weight in self.weights if weight.kind != RENAMED]
        others = [*self.metadata, *self.signatures, *self.ops, *self.functions, *changed]
        return not others and all(graph.difference.is_equal for graph in self.graphs)

    @property
    def exit_code(self) -> int:
        """As `diff`: 0 equal, 1 different; 2 is for what cannot be read."""
        return 0 if self.is_equal else 1


def compare_models(a: Model, b: Model, known: KnownOps) -> ModelDifference:
    """Compare two models in any format."""
    inspected = inspect_model(a, known), inspect_model(b, known)
    weights, same = _weights(a, b)
    missing = a.no_graph or b.no_graph
    functions = {} if missing else match_functions(a.graph, b.graph)
    return ModelDifference(
        a.where,
        b.where,
        list(_parts(*map(_metadata, inspected))) + list(_assets(a, b, *inspected)),
        list(_parts(*map(_ends, inspected))),
        sorted(_parts(*map(_op_counts, inspected)), key=_distance, reverse=True),
        [] if missing else list(_graphs(a, b, functions)),
        [] if missing else list(_functions(a, b, functions)),
        weights,
        same,
        missing,
    )


def _parts(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[PartDifference]:
    for name, before in a.items():
        after = b.get(name)
        if after is None:
            yield PartDifference(GONE, name, before)
        elif before != after:
            yield PartDifference(CHANGED, name, f"{before} → {after}")
    for name, after in b.items():
        if name not in a:
            yield PartDifference(ADDED, name, after)


def _metadata(inspection: Inspection) -> dict[str, str]:
    lite, keras = inspection.lite, inspection.keras
    facts = {
        "format": inspection.format.name,
        "tags": ", ".join(inspection.tags),
        "saved by": f"TensorFlow {inspection.tensorflow}" if inspection.tensorflow else "",
        "made with": ", ".join(inspection.made_with),
        "GraphDef version": str(inspection.graph_def or ""),
        "GraphDef min_consumer": str(inspection.min_consumer or ""),
        "devices": ", ".join(inspection.devices),
        "Keras version": keras.file.keras_version if keras else "",
        "least runtime": lite.metadata.min_runtime_version if lite else "",
        "quantization": lite.quantization if lite else "",
    }
    return {name: text for name, text in facts.items() if text}


def _assets(a: Model, b: Model, *inspected: Inspection) -> Iterator[PartDifference]:
    """Vocabularies and other files of a SavedModel, by content."""
    contents = [
        {f"asset {asset.file}": _file_digest(model, asset.file) for asset in inspection.assets}
        for model, inspection in zip((a, b), inspected, strict=True)
    ]
    for part in _parts(*contents):
        yield PartDifference(part.kind, part.name, "another content" if part.kind == CHANGED else "")


def _file_digest(model: Model, file: str) -> str:
    try:
        content = model.files.map(f"{ASSETS}/{file}")
    except Error:
        return "missing"
    digest = hashlib.sha256(content).hexdigest()
    release_mapped(content)
    return digest


def _ends(inspection: Inspection) -> dict[str, str]:
    """The inputs and outputs of each signature."""
    ends: dict[str, str] = {}
    for name, signature in inspection.signatures.items():
        ends |= _specs(f"{name}: input", signature.inputs) | _specs(f"{name}: output", signature.outputs)
    if not inspection.signatures:
        ends |= _specs("input", inspection.inputs) | _specs("output", inspection.outputs)
    return ends


def _specs(title: str, specs: Mapping[str, TensorSpec]) -> dict[str, str]:
    return {f"{title} {name}": str(spec) for name, spec in specs.items()}


def _op_counts(inspection: Inspection) -> dict[str, str]:
    if inspection.lite is not None:
        return {code.name: str(number) for code, number in inspection.lite.operators.items() if number}
    return {op: str(number) for op, number in inspection.census.total.items()}


def _distance(part: PartDifference) -> int:
    numbers = [int(word) for word in part.what.split(" → ") if word.isdecimal()]
    return abs(numbers[0] - numbers[-1]) if len(numbers) > 1 else sum(numbers)


def _graphs(a: Model, b: Model, functions: Mapping[str, str]) -> Iterator[ComparedGraph]:
    yield ComparedGraph(MAIN, MAIN, graph_difference(a.graph, b.graph, functions))
    ours, theirs = a.graph.library.functions, b.graph.library.functions
    for name, other in functions.items():
        yield ComparedGraph(name, other, graph_difference(ours[name], theirs[other], functions))


def _functions(a: Model, b: Model, functions: Mapping[str, str]) -> Iterator[PartDifference]:
    matched = set(functions.values())
    for name, function in a.graph.library.functions.items():
        if name not in functions:
            yield PartDifference(GONE, name, f"{len(function)} nodes")
    for name, function in b.graph.library.functions.items():
        if name not in matched:
            yield PartDifference(ADDED, name, f"{len(function)} nodes")


# Weights


def _weights(a: Model, b: Model) -> tuple[list[PartDifference], int]:
    """How the weights differ, and how many are equal."""
    ours = {weight.name: weight for weight in model_weights(a)}
    theirs = {weight.name: weight for weight in model_weights(b)}
    differences: list[PartDifference] = []
    same = 0
    for name in (name for name in ours if name in theirs):
        if what := _value_difference(ours[name], theirs[name]):
            differences.append(PartDifference(CHANGED, name, what))
        else:
            same += 1
    left = [name for name in ours if name not in theirs]
    more = [name for name in theirs if name not in ours]
    by_content: dict[str, list[str]] = {}
    for name in more if left else ():
        by_content.setdefault(_digest(theirs[name]), []).append(name)
    renamed: set[str] = set()
    for name in left:
        others = by_content.get(_digest(ours[name]) if more else "")
        if others:
            renamed.add(others[0])
            differences.append(PartDifference(RENAMED, name, f"now {others.pop(0)}"))
        else:
            differences.append(PartDifference(GONE, name, _form(ours[name])))
    added = (name for name in more if name not in renamed)
    differences += [PartDifference(ADDED, name, _form(theirs[name])) for name in added]
    for model in (a, b):
        if model.checkpoint is not None:
            model.checkpoint.release_memory()
    return differences, same


def _form(weight: ModelWeight) -> str:
    return f"{weight.dtype} [{', '.join(map(str, weight.shape))}]"


def _value_difference(a: ModelWeight, b: ModelWeight) -> str:
    """What differs between two arrays; empty if nothing does."""
    import numpy as np

    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return f"{_form(a)} → {_form(b)}"
    try:
        first, second = a.read(), b.read()
    except Error as error:
        return f"cannot be read: {error}"
    if first.tobytes() == second.tobytes():
        return ""
    unequal = first != second
    if first.dtype.kind in "fc":
        unequal &= ~(np.isnan(first) & np.isnan(second))
    number = int(np.count_nonzero(unequal))
    if not number:
        return ""
    with np.errstate(invalid="ignore", over="ignore"):
        wide = np.complex128 if first.dtype.kind == "c" else np.float64
        distance = np.abs(first[unequal].astype(wide) - second[unequal].astype(wide))
    finite = distance[np.isfinite(distance)]
    largest = f", by at most {finite.max():.3g}" if finite.size else ""
    return f"{number:,} of {first.size:,} values differ{largest}"


def _digest(weight: ModelWeight) -> str:
    try:
        content = weight.read().tobytes()
    except Error:
        return f"unreadable {weight.name}"
    return f"{_form(weight)} {hashlib.sha256(content).hexdigest()}"
