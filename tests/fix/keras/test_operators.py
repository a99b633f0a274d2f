"""Operators on tensors, rewritten between functions of TensorFlow and operations of Keras 3."""

from __future__ import annotations

import numpy as np
import pytest
from tests.fix.keras.test_fix import fixed_to, written
from tests.frontends.keras.recorded_models import recorded
from tests.frontends.keras.test_recorded import assert_answers

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.keras.dialect import Dialect
from tfport.fix.keras.op_nodes import NODE_LAYER, with_functions
from tfport.fix.keras.operators import with_operators_of
from tfport.formats.keras.write import write_h5
from tfport.frontends.keras.config import model_config

STAYS = {
    "op_argmax": "int64 in TensorFlow, int32 in Keras",
    "op_backend_functions": "a function of keras.backend",
    "op_einsum": "Keras 2 does not store its tensors",
    "op_flip": "axes as a list",
    "op_l2_normalize": "another epsilon",
    "op_max_pool": "windows as a list",
    "op_pad": "modes in capitals",
    "op_resize": "methods have other names",
    "op_shape": "a shape that is computed",
    "op_top_k": "several results",
}
"""Cases with operators that are not rewritten, and why."""
TO_3 = [m for m in recorded("operators", "tensorflow-2.15.1", ("keras",)) if m.case not in STAYS]
TO_2 = [m for m in recorded("operators", "keras-3.15.1", ("keras",)) if m.case not in STAYS]


def classes_in(stored):
    return {entry["class_name"] for entry in stored["config"]["layers"]}


@pytest.mark.parametrize("model", TO_3, ids=str)
def test_functions_of_tensorflow_become_operations(model, tmp_path):
    fixed = fixed_to(model.write(tmp_path), tmp_path / "out.keras", "keras==3.15.1")
    stored = written(fixed, tmp_path / "out.keras")
    assert not classes_in(stored) & {"TFOpLambda", "SlicingOpLambda"}
    assert_answers(tfport.load(tmp_path / "out.keras"), model)


@pytest.mark.parametrize("model", TO_2, ids=str)
def test_operations_become_functions_of_tensorflow(model, tmp_path):
    fixed = fixed_to(model.write(tmp_path), tmp_path / "out.h5", "tensorflow==2.15.1")
    stored = written(fixed, tmp_path / "out.h5")
    assert classes_in(stored) & {"TFOpLambda", "SlicingOpLambda"}
    assert_answers(tfport.load(tmp_path / "out.h5"), model)


def node_model(*nodes):
    """A functional model of TensorFlow 2.3 whose layers are nodes, each of the one before it."""
    first = {"batch_input_shape": [None, 4, 3], "dtype": "float32", "name": "x"}
    layers = [{"class_name": "InputLayer", "config": first, "name": "x", "inbound_nodes": []}]
    for number, (op, constants, attributes) in enumerate(nodes):
        node = {"name": op, "op": op, "input": ["x"] * (1 + len(constants)), "attr": attributes}
        config = {"name": op, "trainable": True, "dtype": "float32", "node_def": node, "constants": constants}
        calls = [[[layers[-1]["name"], 0, 0, {}]]]
        layers.append(
            {"class_name": NODE_LAYER, "config": config, "name": f"n{number}", "inbound_nodes": calls}
        )
    ends = {"input_layers": [["x", 0, 0]], "output_layers": [[layers[-1]["name"], 0, 0]]}
    return {"class_name": "Functional", "config": {"name": "m", "layers": layers, **ends}}


T, T_INDEX = {"T": {"type": "DT_FLOAT"}}, {"T": {"type": "DT_FLOAT"}, "Index": {"type": "DT_INT32"}}
T_AXES = {**T, "Tidx": {"type": "DT_INT32"}}
NODES = [
    ("AddV2", {"1": 1.5}, T),
    ("Sub", {"0": 2.0}, T),
    ("Tanh", {}, T),
    (
        "StridedSlice",
        {"1": [0, 1], "2": [0, 4], "3": [1, 2]},
        {**T_INDEX, "begin_mask": {"i": "1"}, "end_mask": {"i": "1"}},
    ),
    ("Mean", {"1": [-1]}, {**T_AXES, "keep_dims": {"b": True}}),
    (
        "StridedSlice",
        {"1": [0, 1], "2": [0, 2], "3": [1, 1]},
        {**T_INDEX, "begin_mask": {"i": "1"}, "end_mask": {"i": "1"}, "shrink_axis_mask": {"i": "2"}},
    ),
]


def test_nodes_of_old_releases_become_operations(tmp_path):
    write_h5(tmp_path / "m.h5", node_model(*NODES), {}, "2.4.0")
    model = tfport.load(str(tmp_path / "m.h5"))
    fixed = fixed_to(tmp_path / "m.h5", tmp_path / "out.keras", "keras==3.15.1")
    stored = written(fixed, tmp_path / "out.keras")
    assert classes_in(stored) == {"InputLayer", "Add", "Subtract", "Tanh", "GetItem", "Mean"}
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 4, 3)
    expected = np.tanh(2 - (x + 1.5))[:, 1:4:2].mean(-1, keepdims=True)[:, 1]
    for one in (model, tfport.load(str(tmp_path / "out.keras"))):
        (answer,) = tfport.Session(one).signature("serving_default")(x=x).values()
        np.testing.assert_allclose(answer, expected, rtol=1e-5)


@pytest.mark.parametrize("node", [("Cumsum", {"1": 1}, T_AXES), ("Roll", {"1": 1, "2": 1}, T)])
def test_a_node_that_no_function_is_known_for_is_refused(node):
    config = model_config(node_model(node), "m")
    with_functions(config)
    assert config.layers[1].class_name == NODE_LAYER


@pytest.mark.parametrize("case", ["op_pad", "op_split", "op_gather"])
def test_a_call_that_the_operation_does_not_have_stays(case, tmp_path):
    """As with arguments that only the function has."""
    (model,) = (m for m in recorded("operators", "tensorflow-2.15.1", ("keras",)) if m.case == case)
    loaded = tfport.load(str(model.write(tmp_path)))
    for entry in loaded.keras.config["config"]["layers"]:
        if entry["class_name"] == "TFOpLambda":
            entry["inbound_nodes"][0][3] |= {"num_or_size_splits": [1, 3]} if case == "op_split" else {}
            entry["inbound_nodes"][0][3] |= {"batch_dims": 1} if case == "op_gather" else {}
    config = model_config(loaded.keras.config, "")
    (release,) = resolve_targets("keras==3.15.1")
    assert with_operators_of(config, Dialect(release.keras)) == []


def test_an_inner_model_is_numbered_as_keras_3_does(tmp_path):
    """Keras 3 counts the calls of an inner model from 0, Keras 2 from 1."""
    (model,) = (m for m in TO_3 if m.case == "op_in_nested_model")
    stored = written(
        fixed_to(model.write(tmp_path), tmp_path / "out.keras", "keras==3.15.1"), tmp_path / "out.keras"
    )
    (last,) = (e for e in stored["config"]["layers"] if e["class_name"] == "Multiply")
    calls = [tensor["config"]["keras_history"][1] for tensor in last["inbound_nodes"][0]["args"]]
    assert calls == [0, 1]
