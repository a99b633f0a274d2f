"""Facts about a model as tfport reads it, in the format in which `live.facts` records those of TensorFlow.

model_facts(path)                          {"kind": …, "graphs": […], "variables": {…}, …}
differences(expected, model_facts(path))   a line for each fact in `expected` that differs in tfport
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.live import sums

import tfport
from tfport.formats.checkpoint.read import Checkpoint
from tfport.graph.dtypes import DType
from tfport.graph.graph import Graph, Node
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.graph.state import assets

KINDS = {
    "SavedModel": "saved_model",
    "MetaGraph": "meta_graph",
    "GraphDef": "graph_def",
    "checkpoint": "checkpoint",
    "TensorFlow.js graph model": "tfjs",
}
NOT_COMPARED = {"file", "loads", "objects"}


def model_facts(path: str | Path) -> dict:
    """Return the facts of `live.facts` as tfport reads them."""
    model = tfport.load(path)
    several = [tfport.load(path, tags=tags) for tags in model.tag_sets] or [model]
    out = {"kind": KINDS[model.format.name], "variables": variables(model.checkpoint)}
    out["graphs"] = [graph(m) for m in several] if out["kind"] != "checkpoint" else []
    if model.fingerprint:
        known = {f.name: getattr(model.fingerprint, f.name) for f in model.fingerprint.DESCRIPTOR.fields}
        out["fingerprint"] = {k: v for k, v in known.items() if k != "version"}
    return out


def graph(model: Model) -> dict:
    main, versions, library = model.graph, model.graph.rest.versions, model.graph.library
    return {
        "tags": list(model.tags),
        "producer": {
            "tensorflow": model.meta.meta_info_def.tensorflow_version,
            "graph_def": versions.producer,
            "min_consumer": versions.min_consumer,
        },
        "main": census(main),
        "functions": {name: census(function) for name, function in library.functions.items()},
        "gradients": {g.function_name: g.gradient_func for g in library.rest.gradient},
        "devices": sorted({node.device for node in main} - {""}),
        "signatures": {name: signature(s) for name, s in model.signatures.items()},
        "assets": sorted([a.file, a.tensor] for a in assets(model)),
        "init_op": next((node.name for node in model.init_nodes), None),
        "aliases": dict(model.meta.meta_info_def.function_aliases),
    }


def census(nodes: Graph) -> dict:
    return {
        "ops": dict(Counter(node.op for node in nodes)),
        "inputs": sum(len(node.inputs) for node in nodes),
        "controls": sum(len(node.controls) for node in nodes),
        "constants": constants(nodes),
    }


def constants(nodes: Iterable[Node]) -> dict:
    values = {node.name: node.attrs["value"] for node in nodes if node.op == "Const"}
    return sums.digest_of_all({k: sums.value(v.dtype.name, v.numpy()) for k, v in values.items()})


def signature(spec: Signature) -> dict:
    return {
        "method": spec.method,
        "inputs": {name: tensor(s) for name, s in spec.inputs.items()},
        "outputs": {name: tensor(s) for name, s in spec.outputs.items()},
        "defaults": {k: sums.value(v.dtype.name, v.numpy()) for k, v in spec.defaults.items()},
    }


def tensor(spec: TensorSpec) -> dict:
    dims = list(spec.shape.dims) if spec.shape.dims is not None else None
    kind = spec.dtype.name if spec.dtype.number else None
    return {"names": sorted(spec.tensors), "dtype": kind, "shape": dims}


def variables(checkpoint: Checkpoint | None) -> dict:
    names = checkpoint.names() if checkpoint else []
    return {n: sums.value(DType.of(checkpoint.entry(n).dtype).name, checkpoint.read(n)) for n in names}


# Comparing


def differences(expected: object, actual: object, where: str = "") -> Iterator[str]:
    """Yield what is missing or different in `actual`, and what only `actual` has."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        if {"dtype", "shape"} <= actual.keys() and "names" in actual:
            expected = flat(expected)
        for key in expected.keys() - NOT_COMPARED:
            yield from differences(expected[key], actual.get(key, "nothing"), f"{where}/{key}")
        if where.endswith(OPEN):
            yield from (f"{where}/{key}: not in TensorFlow" for key in actual.keys() - expected.keys())
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for place, (a, b) in enumerate(zip(expected, actual, strict=True)):
            yield from differences(a, b, f"{where}/{place}")
    elif expected != actual:
        yield f"{where}: TensorFlow {expected!r}, tfport {actual!r}"


OPEN = ("/variables", "/ops", "/functions", "/signatures", "/inputs", "/outputs", "/defaults")


def flat(expected: dict) -> dict:
    """Return an argument as tfport represents it: the names of its tensors."""
    if "parts" in expected:
        return {"names": sorted(name for part in expected["parts"] for name in flat(part)["names"])}
    names = expected["sparse"] if "sparse" in expected else [expected["name"]]
    return {"names": sorted(names), "dtype": expected["dtype"], "shape": expected["shape"]}
