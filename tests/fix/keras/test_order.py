"""Rewritten Keras files have their weights, calls and options where the real loaders look for them."""

import io
import json
import zipfile

import h5py
import numpy as np
import pytest
from tests.fix.keras.test_fix import answers, arrays, fixed_to, layer, written
from tests.frontends.keras.files import write_h5

from tfport.frontends.keras.config import model_config
from tfport.frontends.keras.layer_order import layers_in_order

KERAS_2, KERAS_3 = "keras==2.15.0", "keras==3.15.1"


def call3(*names, number=0):
    tensors = [
        {
            "class_name": "__keras_tensor__",
            "config": {"shape": [None, 4], "dtype": "float32", "keras_history": [name, number, 0]},
        }
        for name in names
    ]
    return {"args": [tensors if len(tensors) > 1 else tensors[0]], "kwargs": {}}


def node3(class_name, name, *calls, **options):
    stored = layer(class_name, name, **options)
    return {**stored, "module": "keras.layers", "name": name, "inbound_nodes": list(calls)}


def functional3(name, layers, outputs):
    x = layer("InputLayer", f"{name}_x", batch_shape=[None, 4], dtype="float32")
    entries = [{**x, "module": "keras.layers", "name": f"{name}_x", "inbound_nodes": []}, *layers]
    config = {
        "name": name,
        "layers": entries,
        "input_layers": [[f"{name}_x", 0, 0]],
        "output_layers": outputs,
    }
    return {"module": "keras", "class_name": "Functional", "config": config}


def branches():
    layers = [
        node3("Dense", "a", call3("m_x"), units=4, activation="elu"),
        node3("Dense", "b", call3("m_x"), units=4, activation="hard_sigmoid"),
        node3("Multiply", "y", call3("a", "b")),
    ]
    return functional3("m", layers, [["y", 0, 0]])


def test_layers_that_fix_inserts_change_the_order_of_the_weights(tmp_path):
    weights = arrays(a=[(4, 4), (4,)], b=[(4, 4), (4,)])
    weights["b"] = {name: array + 1 for name, array in weights["b"].items()}
    source = write_h5(tmp_path / "m.h5", config=branches(), version="3.15.1", **weights)
    stored = written(fixed_to(source, tmp_path / "2.h5", KERAS_2), tmp_path / "2.h5")
    names = [entry["name"] for entry in stored["config"]["layers"]]
    assert names.index("b_before_activation") < names.index("a")  # it is farther from the output now
    with h5py.File(tmp_path / "2.h5", "r+") as file:
        group = file["model_weights"]
        lists = [name.decode() for name in group.attrs["layer_names"]]
        assert lists == names
        x = {"m_x": np.linspace(-1, 1, 12, dtype="f4").reshape(3, 4)}
        right = answers(tmp_path / "2.h5", x)
        np.testing.assert_allclose(right, answers(source, x), rtol=1e-5)
        a, b = names.index("a"), names.index("b_before_activation")
        lists[a], lists[b] = lists[b], lists[a]
        group.attrs["layer_names"] = [name.encode() for name in lists]
    assert not np.allclose(answers(tmp_path / "2.h5", x), right)  # as in Keras, which does not look at names


def test_unused_inputs_and_shared_layers_have_their_position():
    layers = [
        node3("Dense", "shared", call3("m_x"), call3("late"), units=4),
        node3("Dense", "early", call3("m_x"), units=4),
        node3("Dense", "late", call3("shared"), units=4),
        node3("Add", "y", call3("shared", "early")),
        node3(
            "Add", "z", {"args": [[*call3("y")["args"], *call3("shared", number=1)["args"]]], "kwargs": {}}
        ),
    ]
    config = model_config(functional3("m", layers, [["z", 0, 0]]), "m")
    assert [entry.name for entry in layers_in_order(config)] == ["m_x", "shared", "early", "late", "y", "z"]


def test_an_archive_has_the_objects_without_weights_too(tmp_path):
    weights = arrays(a=[(4, 4), (4,)], b=[(4, 4), (4,)])
    source = write_h5(tmp_path / "m.h5", config=branches(), version="3.15.1", **weights)
    written(fixed_to(source, tmp_path / "m.keras", "keras==3.3.3"), tmp_path / "m.keras")
    with zipfile.ZipFile(tmp_path / "m.keras") as archive:
        file = h5py.File(io.BytesIO(archive.read("model.weights.h5")))
    assert len(file["vars"]) == 0  # Keras 3.0 to 3.5 fail without it
    assert "layers/multiply/vars" in file


def nested(output):
    inner = functional3("f", [node3("Dense", "d", call3("f_x"), units=4)], [["d", 0, 0]])
    entry = {**inner, "name": "f", "inbound_nodes": [call3("m_x"), call3("late")]}
    layers = [entry, node3("Dense", "late", call3("f"), units=4)]
    return functional3("m", layers, [["f", output, 0]])


@pytest.mark.parametrize(("stored", "call"), [(1, 0), (2, 1), (0, 1)])
def test_outputs_count_the_creation_of_an_inner_model(stored, call):
    (output,) = model_config(nested(stored), "m").outputs
    assert output.call == call


def test_outputs_of_inner_models_are_numbered_as_the_release_reads_them(tmp_path):
    weights = arrays(f=[(4, 4), (4,)], late=[(4, 4), (4,)])
    source = write_h5(tmp_path / "m.h5", config=nested(2), version="3.15.1", **weights)
    stored = written(fixed_to(source, tmp_path / "m.keras", "keras==3.6.0"), tmp_path / "m.keras")
    assert stored["config"]["output_layers"] == ["f", 2, 0]
    f, late = (next(e for e in stored["config"]["layers"] if e["name"] == n) for n in ("f", "late"))
    assert f["inbound_nodes"][1] == [["late", 0, 0, {}]]  # only calls in the old form wait before 3.7
    assert isinstance(late["inbound_nodes"][0], dict)
    back = written(fixed_to(source, tmp_path / "2.h5", KERAS_2), tmp_path / "2.h5")
    assert back["config"]["output_layers"] == [["f", 2, 0]]
    early = written(fixed_to(source, tmp_path / "n.keras", "keras==3.2.1"), tmp_path / "n.keras")
    assert early["config"]["output_layers"] == [["f", 0, 0]]
    last = early["config"]["layers"][-1]  # 3.0 to 3.2 do not load several calls of a model as outputs
    assert (last["class_name"], last["name"]) == ("Activation", "f")


def test_arrays_among_the_arguments_are_written(tmp_path):
    ones = {"class_name": "__numpy__", "config": {"value": [1.0, 2.0, 3.0, 4.0], "dtype": "float32"}}
    add = {**node3("Add", "y"), "module": "keras.src.ops.numpy", "config": {"name": "y"}}
    add["inbound_nodes"] = [{"args": [call3("d")["args"][0], ones], "kwargs": {}}]
    config = functional3("m", [node3("Dense", "d", call3("m_x"), units=4), add], [["y", 0, 0]])
    source = write_h5(tmp_path / "m.h5", config=config, version="3.15.1", **arrays(d=[(4, 4), (4,)]))
    stored = written(fixed_to(source, tmp_path / "m.keras", KERAS_3), tmp_path / "m.keras")
    assert stored["config"]["layers"][-1]["inbound_nodes"][0]["args"][1] == ones
    back = written(fixed_to(source, tmp_path / "2.h5", KERAS_2), tmp_path / "2.h5")
    assert back["config"]["layers"][-1]["inbound_nodes"] == [["d", 0, 0, {"y": [1.0, 2.0, 3.0, 4.0]}]]


def test_attention_of_keras_2_states_the_shapes_of_its_inputs(tmp_path):
    attention = node3("MultiHeadAttention", "y", num_heads=2, key_dim=2)
    tensors = [call3("q")["args"][0], call3("m_x")["args"][0]]
    attention["inbound_nodes"] = [{"args": tensors, "kwargs": {}}]
    config = functional3("m", [node3("Dense", "q", call3("m_x"), units=4), attention], [["y", 0, 0]])
    config["config"]["layers"][0]["config"]["batch_shape"] = [None, 3, 4]
    shapes = [(4, 2, 2), (2, 2)] * 3 + [(2, 2, 4), (4,)]
    weights = arrays(q=[(4, 4), (4,)], y=shapes)
    source = write_h5(tmp_path / "m.h5", config=config, version="3.15.1", **weights)
    stored = written(fixed_to(source, tmp_path / "2.h5", KERAS_2), tmp_path / "2.h5")
    options = stored["config"]["layers"][-1]["config"]
    assert [options[f"{name}_shape"] for name in ("query", "value", "key")] == [[None, 3, 4]] * 3


def test_a_bidirectional_layer_without_what_it_does_by_itself(tmp_path):
    def lstm(name, backwards):
        options = {
            "units": 2,
            "recurrent_activation": "sigmoid",
            "go_backwards": backwards,
            "zero_output_for_mask": True,
            "return_sequences": True,
        }
        return {**layer("LSTM", name, **options), "module": "keras.layers"}

    both = node3("Bidirectional", "y", call3("m_x"), layer=lstm("f", False), backward_layer=lstm("b", True))
    config = functional3("m", [both], [["y", 0, 0]])
    config["config"]["layers"][0]["config"]["batch_shape"] = [None, 3, 4]
    weights = arrays(y=[(4, 8), (2, 8), (8,)] * 2)
    source = write_h5(tmp_path / "m.h5", config=config, version="3.15.1", **weights)
    stored = written(fixed_to(source, tmp_path / "2.h5", "tensorflow==1.15.5"), tmp_path / "2.h5")
    assert "backward_layer" not in stored["config"]["layers"][-1]["config"]


def test_the_certificate_says_that_a_release_was_not_tried(tmp_path):
    source = write_h5(tmp_path / "m.h5")
    untried = "rewritten files of this kind were not tried in this release"
    for version, says in ("3.15.0", True), ("3.15.1", False):
        path = tmp_path / f"{version}.keras"
        fixed_to(source, path, f"keras=={version}").save(path)
        certificate = json.loads((tmp_path / f"{version}.keras.certificate.json").read_text())
        assert (untried in json.dumps(certificate)) is says


def test_a_vocabulary_with_the_usual_method_is_not_refused(tmp_path):
    x = {**layer("InputLayer", "x", batch_shape=[None, 1], dtype="string"), "module": "keras.layers"}
    options = {"vocabulary": ["a", "b"], "oov_method": "floormod", "num_oov_indices": 1}
    lookup = {**layer("StringLookup", "y", **options), "module": "keras.layers"}
    config = {"module": "keras", "class_name": "Sequential", "config": {"name": "m", "layers": [x, lookup]}}
    source = write_h5(tmp_path / "m.h5", config=config, version="3.15.1")
    assert fixed_to(source, tmp_path / "m.keras", "keras==3.3.3").ok
