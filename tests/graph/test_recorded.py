"""tfport reads the recorded models as TensorFlow does."""

from collections import Counter
from typing import Any

import pytest
from tests.live import sums
from tests.recorded_models import EXPECTED, NAMES, load, of_kind, shared

from tfport.graph.constants import constant
from tfport.graph.graph import Graph
from tfport.graph.model import INIT_SIGNATURE, Model, Signature, TensorSpec
from tfport.graph.shapes import Shape
from tfport.graph.state import assets, variables
from tfport.graph.tensors import Tensor

# in Keras 3, objects and variables have different names
OBJECTS = [
    n for n in NAMES if EXPECTED[n]["objects"] and EXPECTED[n]["graphs"] and not n.startswith("keras_")
]
GRAPHS = [(name, i) for name in NAMES for i in range(len(EXPECTED[name]["graphs"]))]


def opened(name: str, index: int) -> tuple[Model, dict[str, Any]]:
    """A model with the MetaGraph at this index, and the facts recorded from TensorFlow."""
    expected = EXPECTED[name]["graphs"][index]
    several = len(EXPECTED[name]["graphs"]) > 1
    return load(name, expected["tags"]) if several else shared(name), expected


def dims(shape: Shape) -> list[int | None] | None:
    return None if shape.dims is None else list(shape.dims)


def value(tensor: Tensor) -> dict[str, Any]:
    return sums.value(tensor.dtype.name, tensor.numpy())


def body(graph: Graph) -> dict[str, Any]:
    """The nodes of a graph in the form of `facts.census`."""
    return {
        "ops": dict(Counter(node.op for node in graph)),
        "inputs": sum(len(node.inputs) for node in graph),
        "controls": sum(len(node.controls) for node in graph),
        "constants": sums.digest_of_all(
            {node.name: value(constant(node.output(0))) for node in graph if node.op == "Const"}
        ),
    }


@pytest.mark.parametrize(("name", "index"), GRAPHS)
def test_nodes_edges_and_constants(name, index):
    model, expected = opened(name, index)
    assert body(model.graph) == expected["main"]
    assert {n: body(f) for n, f in model.graph.library.functions.items()} == expected["functions"]
    gradients = {g.function_name: g.gradient_func for g in model.graph.library.rest.gradient}
    assert gradients == expected["gradients"]
    assert sorted({node.device for node in model.graph} - {""}) == expected["devices"]


@pytest.mark.parametrize(("name", "index"), GRAPHS)
def test_producer_and_tags(name, index):
    model, expected = opened(name, index)
    versions = model.graph.rest.versions
    assert expected["producer"] == {
        "tensorflow": model.meta.meta_info_def.tensorflow_version,
        "graph_def": versions.producer,
        "min_consumer": versions.min_consumer,
    }
    if "tags" in expected:
        assert list(model.tags) == expected["tags"]
        assert dict(model.meta.meta_info_def.function_aliases) == expected["aliases"]
    if model.tag_sets:
        assert [list(tags) for tags in model.tag_sets] == [g["tags"] for g in EXPECTED[name]["graphs"]]


def tensor(spec: TensorSpec, expected: dict[str, Any]) -> dict[str, Any]:
    """A TensorSpec in the form of `facts.tensor`."""
    if "parts" in expected:
        parts = [
            {**part, "name": tensor} for part, tensor in zip(expected["parts"], spec.tensors, strict=True)
        ]
        return {"type": f"{spec.form.upper()}_TENSOR_SPEC", "parts": parts}
    fields = {"dtype": spec.dtype.name, "shape": dims(spec.shape)}
    if spec.form == "sparse":
        values, indices, shape = spec.tensors
        return {**fields, "sparse": [indices, values, shape]}
    return {**fields, "name": spec.tensors[0]}


def signature(ours: Signature, expected: dict[str, Any]) -> dict[str, Any]:
    return {
        "method": ours.method,
        "inputs": {n: tensor(spec, expected["inputs"][n]) for n, spec in ours.inputs.items()},
        "outputs": {n: tensor(spec, expected["outputs"][n]) for n, spec in ours.outputs.items()},
        "defaults": {n: value(t) for n, t in ours.defaults.items()},
    }


@pytest.mark.parametrize(("name", "index"), [g for g in GRAPHS if g[0] not in of_kind("graph_def")])
def test_signatures_assets_and_initializers(name, index):
    model, expected = opened(name, index)
    assert set(model.signatures) == set(expected["signatures"])
    for key, ours in model.signatures.items():
        assert signature(ours, expected["signatures"][key]) == expected["signatures"][key]
        assert all(
            model.has_tensor(t) for s in (*ours.inputs.values(), *ours.outputs.values()) for t in s.tensors
        )
    assert sorted([asset.file, asset.tensor] for asset in assets(model)) == expected["assets"]
    init = expected["init_op"]
    assert [node.name for node in model.init_nodes] == ([init.partition(":")[0]] if init else [])
    assert INIT_SIGNATURE not in model.signatures


@pytest.mark.parametrize("name", NAMES)
def test_variables_and_their_values(name):
    model, expected = shared(name), EXPECTED[name]
    stored = model.checkpoint
    names = stored.names() if stored else []
    assert {n: sums.value(dtype(model, n), stored.read(n)) for n in names} == expected["variables"]
    for variable in variables(model):
        if variable.key is not None:
            assert variable.key in expected["variables"]
        if variable.key is not None and not variable.slice:
            entry = expected["variables"][variable.key]
            assert (variable.dtype.base.name, dims(variable.shape)) == (entry["dtype"], entry["shape"])


def dtype(model: Model, name: str) -> str:
    from tfport.graph.dtypes import DType

    return DType.of(model.checkpoint.entry(name).dtype).name


@pytest.mark.parametrize("name", OBJECTS)
def test_variables_have_the_names_of_the_object_graph(name):
    ours = {v.key: v.name for v in variables(shared(name)) if v.key}
    expected = EXPECTED[name]["objects"]
    assert {key: expected[key] for key in ours} == ours


@pytest.mark.parametrize("name", [n for n in NAMES if "fingerprint" in EXPECTED[n]])
def test_fingerprints(name):
    fingerprint = shared(name).fingerprint
    assert {key: getattr(fingerprint, key) for key in EXPECTED[name]["fingerprint"]} == EXPECTED[name][
        "fingerprint"
    ]
