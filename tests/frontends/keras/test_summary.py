import contextlib
from typing import Any

import numpy as np
from tests.frontends.keras.built_models import stored

from tfport.atlas.known_ops import known_ops
from tfport.errors import Error
from tfport.formats.keras.records import BY_LAYER, BY_PATH, KerasFile, StoredWeights
from tfport.frontends.keras.build import ModelBuilder
from tfport.frontends.keras.summary import ModelSummary, summarize
from tfport.graph.op_signature import OpTable


def dense(name: str, units: int, *inbound: list[Any], **options: Any) -> dict[str, Any]:
    config = {"name": name, "units": units, **options}
    nodes = [[[*call, {}]] for call in inbound]
    return {"class_name": "Dense", "name": name, "config": config, "inbound_nodes": nodes}


def entry(name: str, shape: list[int | None]) -> dict[str, Any]:
    config = {"name": name, "batch_input_shape": shape, "dtype": "float32"}
    return {"class_name": "InputLayer", "name": name, "config": config, "inbound_nodes": []}


def functional(name: str, layers: list[Any], inputs: list[Any], outputs: list[Any]) -> dict[str, Any]:
    config = {"name": name, "layers": layers, "input_layers": inputs, "output_layers": outputs}
    return {"class_name": "Functional", "config": config}


INNER = functional("inner", [entry("i", [None, 3]), dense("d", 2, ["i", 0, 0])], [["i", 0, 0]], [["d", 0, 0]])
MODEL = functional(
    "outer",
    [
        entry("x", [None, 4]),
        dense("frozen", 3, ["x", 0, 0], trainable=False),
        {**INNER, "name": "inner", "inbound_nodes": [[["frozen", 0, 0, {}]], [["frozen", 0, 0, {}]]]},
        dense("y", 5, ["inner", 1, 0]),
    ],
    [["x", 0, 0]],
    [["y", 0, 0], ["inner", 0, 0]],
)
WEIGHTS = {
    "frozen": [np.zeros((4, 3), "f4"), np.zeros(3, "f4")],
    "inner": [np.zeros((3, 2), "f4"), np.zeros(2, "f4")],
    "y": [np.zeros((2, 5), "f4"), np.zeros(5, "f4")],
}


def summary_of(config: dict[str, Any] | None, weights: Any = WEIGHTS, layout: str = BY_LAYER) -> ModelSummary:
    lists = {owner: [stored(array) for array in arrays] for owner, arrays in (weights or {}).items()}
    kept = StoredWeights(layout, lists) if weights is not None else None
    file = KerasFile("m.h5", "h5", config, kept, "2.15.0")
    builder = ModelBuilder(file, OpTable(known_ops()))
    with contextlib.suppress(Error):
        builder.build()
    return summarize(file, builder.root)


def test_layers_have_shapes_parameters_and_connections():
    summary = summary_of(MODEL)
    assert (summary.class_name, summary.name) == ("Functional", "outer")
    assert [
        (row.depth, row.name, row.class_name, row.shapes, row.parameters, row.trainable, row.inputs)
        for row in summary.layers
    ] == [
        (0, "x", "InputLayer", [(None, 4)], 0, 0, []),
        (0, "frozen", "Dense", [(None, 3)], 15, 0, ["x"]),
        (0, "inner", "Functional", [(None, 2)], 8, 8, ["frozen"]),
        (1, "i", "InputLayer", [(None, 3)], 0, 0, []),
        (1, "d", "Dense", [(None, 2)], 8, 8, []),
        (0, "y", "Dense", [(None, 5)], 15, 15, ["inner[1][0]"]),
    ]
    assert (summary.parameters, summary.trainable) == (38, 23)


def test_a_model_with_an_unknown_layer_shows_what_comes_before_and_what_the_file_says():
    inner = {**INNER, "name": "inner", "class_name": "Functional", "inbound_nodes": [[["odd", 0, 0, {}]]]}
    odd = {**dense("odd", 3, ["frozen", 0, 0]), "class_name": "Acme"}
    layers = [*MODEL["config"]["layers"][:2], odd, inner]
    summary = summary_of(functional("m", layers, [["x", 0, 0]], [["inner", 0, 0]]))
    rows = [
        (row.name, row.shapes, row.parameters, row.trainable, row.is_unsupported) for row in summary.layers
    ]
    assert rows == [
        ("x", [(None, 4)], 0, 0, False),
        ("frozen", [(None, 3)], 15, 0, False),
        ("odd", [], 0, 0, True),
        ("inner", [], 8, None, False),
        ("i", [(None, 3)], 0, 0, False),
        ("d", [], None, None, False),
    ]
    assert (summary.parameters, summary.trainable) == (38, None)


def test_an_architecture_without_weights_counts_what_was_built():
    summary = summary_of(MODEL, None)
    assert [row.parameters for row in summary.layers] == [0, 15, 8, 0, 8, 15]
    assert (summary.parameters, summary.trainable) == (38, 23)


def test_weights_without_an_architecture_are_listed_without_the_optimizer_and_seeds():
    array = np.zeros((2, 3), "f4")
    paths = {"layers/dense": [array], "optimizer": [array], "layers/dropout/seed_generator": [array]}
    summary = summary_of(None, paths, BY_PATH)
    assert summary.layers == []
    assert list(summary.stored) == ["layers/dense"]
    assert summary.parameters == 6


def test_a_sequence_of_layers_needs_no_connections():
    layers = [entry("x", [None, 4]), dense("a", 3, ["x", 0, 0]), dense("b", 2, ["a", 0, 0])]
    summary = summary_of(functional("m", layers, [["x", 0, 0]], [["b", 0, 0]]), None)
    assert [row.inputs for row in summary.layers] == [[], [], []]
