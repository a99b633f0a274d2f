"""Files for the first releases of Keras 3: indexes, encoded categories and options that those load otherwise.

Each is a model that a real release refused or loaded with wrong sizes before.
"""

import numpy as np
import pytest
from tests.fix.keras.test_fix import answers, arrays, fixed_to, written
from tests.fix.keras.test_order import call3, functional3, node3
from tests.frontends.keras.files import write_h5

import tfport

X = {"m_x": np.linspace(-1, 1, 12, dtype="f4").reshape(3, 4)}
ALL = {"class_name": "__slice__", "config": {"start": None, "stop": None, "step": None}}


def operation(class_name, name, source, *values, **options):
    node = node3(class_name, name, call3(source), **options)
    node["inbound_nodes"][0]["args"] += values
    return {**node, "module": "keras.src.ops.numpy"}


def archived(tmp_path, layers, outputs, **weights):
    """A file of Keras 3.15 with layers."""
    source = write_h5(
        tmp_path / "m.h5", config=functional3("m", layers, outputs), version="3.15.1", **weights
    )
    written(fixed_to(source, tmp_path / "m.keras", "keras==3.15.1"), tmp_path / "m.keras")
    return tmp_path / "m.keras"


def rewritten(source, tmp_path, release):
    path = tmp_path / f"{release}.keras"
    stored = written(fixed_to(source, path, f"keras=={release}"), path)
    np.testing.assert_allclose(answers(path, X), answers(source, X), rtol=1e-5)
    return {entry["class_name"]: entry for entry in stored["config"]["layers"]}


def codes(path, release):
    return {finding.code for finding in tfport.check(str(path), on=f"keras=={release}").findings}


@pytest.mark.parametrize(("part", "indices"), [(-1, 3), ({**ALL, "config": {"start": 1, "stop": 3}}, [1, 2])])
def test_an_index_of_several_parts_is_a_take_before_3_2(part, indices, tmp_path):
    source = archived(tmp_path, [operation("GetItem", "y", "m_x", [ALL, part])], [["y", 0, 0]])
    assert "TFP707" in codes(source, "3.1.1")
    assert rewritten(source, tmp_path, "3.1.1")["Take"]["inbound_nodes"][0]["args"][1] == indices
    assert "GetItem" in rewritten(source, tmp_path, "3.2.1")


def test_an_index_that_take_does_not_say_is_refused(tmp_path):
    source = archived(tmp_path, [operation("GetItem", "y", "m_x", [ALL, None])], [["y", 0, 0]])
    fixed = fixed_to(source, tmp_path / "out.keras", "keras==3.0.5")
    assert fixed.remaining == ["layer `y` (GetItem): keras 3.0.5 loads no index of several parts"]


def test_options_of_operations_that_change_nothing_are_dropped(tmp_path):
    layer = operation("Argmax", "y", "m_x", axis=-1, keepdims=False)
    source = archived(tmp_path, [layer], [["y", 0, 0]])
    assert "keepdims" not in rewritten(source, tmp_path, "3.0.5")["Argmax"]["config"]


def encoded(tmp_path):
    layers = [
        node3("Dense", "one", call3("m_x"), units=1),
        node3("Discretization", "bins", call3("one"), bin_boundaries=[-1.0, 0.5], output_mode="one_hot"),
        node3("Dense", "y", call3("bins"), units=2),
    ]
    weights = arrays(one=[(4, 1), (1,)], y=[(3, 2), (2,)])
    return archived(tmp_path, layers, [["y", 0, 0]], **weights)


@pytest.mark.parametrize(("release", "mode"), [("3.3.3", "multi_hot"), ("3.5.0", "one_hot")])
def test_bins_are_encoded_by_a_layer_that_states_its_shape(release, mode, tmp_path):
    source = encoded(tmp_path)
    assert "TFP710" in codes(source, release)
    layers = rewritten(source, tmp_path, release)
    assert layers["Discretization"]["config"]["output_mode"] == "int"
    assert (layers["CategoryEncoding"]["config"]["output_mode"], layers["CategoryEncoding"]["name"]) == (
        mode,
        "bins",
    )


def test_bins_stay_where_their_shape_is_stated(tmp_path):
    source = encoded(tmp_path)
    assert "TFP710" not in codes(source, "3.14.1")
    assert "CategoryEncoding" not in rewritten(source, tmp_path, "3.14.1")


def test_constants_choose_elements(tmp_path):
    layer = operation("Where", "y", "m_x")
    tensor = layer["inbound_nodes"][0]["args"][0]
    chosen = {"class_name": "__tensor__", "config": {"value": [True, False, True, False], "dtype": "bool"}}
    layer["inbound_nodes"][0]["args"] = [chosen, tensor, -1e9]
    y = answers(archived(tmp_path, [layer], [["y", 0, 0]]), X)
    np.testing.assert_array_equal(y, np.where([True, False, True, False], X["m_x"], np.float32(-1e9)))
