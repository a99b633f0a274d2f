"""Keras files rewritten for other releases of Keras: what is written, and what is refused."""

import json
import sys
import zipfile

import h5py
import numpy as np
import pytest
from tests.frontends.keras.files import MODEL, X, expected, write_h5
from tests.frontends.keras.recorded_models import recorded
from tests.frontends.keras.test_recorded import assert_answers

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.fix_to import fix_to
from tfport.fix.options import FixOptions

KERAS_3, KERAS_2 = "keras==3.15.1", "tensorflow==2.4.4"
STEPS = {
    "class_name": "InputLayer",
    "config": {"name": "steps", "batch_input_shape": [None, 5, 3], "dtype": "float32"},
}


def sequential(*layers):
    return {"class_name": "Sequential", "config": {"name": "m", "layers": list(layers)}}


def layer(class_name, name, **options):
    return {"class_name": class_name, "config": {"name": name, **options}}


def arrays(seed=0, **shapes):
    random = np.random.default_rng(seed)
    return {
        name: {f"{name}/{i}:0": random.normal(size=shape).astype("f4") for i, shape in enumerate(sizes)}
        for name, sizes in shapes.items()
    }


def fixed_to(source, output, target, **options):
    (chosen,) = resolve_targets(target)
    return fix_to(tfport.load(str(source)), chosen, str(output), FixOptions(**options))


def written(fixed, path):
    assert fixed.ok, fixed.remaining or fixed.verification.statement
    fixed.save(path)
    if path.suffix.lower() == ".h5":
        with h5py.File(path) as file:
            return json.loads(file.attrs["model_config"])
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("config.json"))


def answers(path, x):
    return next(iter(tfport.Session(str(path)).signature("serving_default")(**x).values()))


def test_an_h5_file_that_cannot_be_written_is_one_plain_sentence(tmp_path):
    fixed = fixed_to(write_h5(tmp_path / "m.h5"), tmp_path / "2.h5", KERAS_2)
    with pytest.raises(OSError, match="No such file or directory") as raised:
        fixed.write(tmp_path / "absent/more/2.h5")
    assert raised.value.strerror == "No such file or directory"


def test_in_python_a_keras_file_stays_one_for_a_keras(tmp_path):
    source = str(write_h5(tmp_path / "m.h5"))
    assert written(tfport.fix(source, target=KERAS_3), tmp_path / "m.keras")["module"] == "keras"
    named = tfport.fix(source, target=KERAS_2, output=tmp_path / "2.h5")
    assert written(named, tmp_path / "2.h5")["class_name"] == "Sequential"
    tfport.fix(source, target=KERAS_2).save(tmp_path / "saved")
    assert (tmp_path / "saved/saved_model.pb").exists()


@pytest.mark.parametrize("config", [MODEL, {"class_name": "Sequential", "config": MODEL["config"]["layers"]}])
def test_a_sequential_model_as_dict_or_list_becomes_an_archive(tmp_path, config):
    source = write_h5(tmp_path / "m.h5", config=config)
    stored = written(fixed_to(source, tmp_path / "m.keras", KERAS_3), tmp_path / "m.keras")
    first, hidden, *_ = stored["config"]["layers"]
    assert (stored["module"], stored["class_name"]) == ("keras", "Sequential")
    assert first["config"] == {"name": "x", "batch_shape": [None, 4], "dtype": "float32"}
    assert (hidden["module"], hidden["registered_name"]) == ("keras.layers", None)
    assert np.allclose(answers(tmp_path / "m.keras", {"x": X}), expected(X), rtol=1e-6)
    certificate = json.loads((tmp_path / "m.keras.certificate.json").read_text())
    assert certificate["target"] == KERAS_3
    assert "new optimizer" in [rule["name"] for rule in certificate["rules"]]


def test_there_and_back_gives_the_same_answers(tmp_path):
    source = write_h5(tmp_path / "m.h5")
    written(fixed_to(source, tmp_path / "m.keras", KERAS_3), tmp_path / "m.keras")
    fixed = fixed_to(tmp_path / "m.keras", tmp_path / "n.h5", KERAS_2)
    stored = written(fixed, tmp_path / "n.h5")
    assert "module" not in stored
    assert stored["config"]["layers"][0]["config"]["batch_input_shape"] == [None, 4]
    with h5py.File(tmp_path / "n.h5") as file:
        assert file.attrs["keras_version"] == "2.4.0"
        assert list(file["model_weights"].attrs["layer_names"]) == [b"x", b"hidden", b"dropout", b"scores"]
        assert list(file["model_weights/hidden"].attrs["weight_names"]) == [
            b"hidden/kernel:0",
            b"hidden/bias:0",
        ]
    assert np.allclose(answers(tmp_path / "n.h5", {"x": X}), expected(X), rtol=1e-6)


def test_calls_of_keras_2_become_those_of_keras_3_and_back(tmp_path):
    x = {
        **layer("InputLayer", "x", batch_input_shape=[None, 4], dtype="float32"),
        "name": "x",
        "inbound_nodes": [],
    }
    inner = {
        **sequential(layer("InputLayer", "i", batch_input_shape=[None, 4]), layer("Dense", "d", units=4)),
        "name": "s",
        "inbound_nodes": [[["x", 0, 0, {}]]],
    }
    inner["config"]["name"] = "s"
    add = {**layer("Add", "add"), "name": "add", "inbound_nodes": [[["x", 0, 0, {}], ["s", 1, 0, {}]]]}
    options = {
        "name": "m",
        "layers": [x, inner, add],
        "input_layers": [["x", 0, 0]],
        "output_layers": [["add", 0, 0]],
    }
    weights = arrays(s=[(4, 4), (4,)])
    source = write_h5(tmp_path / "m.h5", config={"class_name": "Model", "config": options}, **weights)
    stored = written(fixed_to(source, tmp_path / "m.keras", KERAS_3), tmp_path / "m.keras")
    (argument,) = stored["config"]["layers"][2]["inbound_nodes"][0]["args"]
    assert [tensor["config"]["keras_history"] for tensor in argument] == [["x", 0, 0], ["s", 0, 0]]
    assert argument[1]["config"]["shape"] == [None, 4]
    assert stored["config"]["output_layers"] == ["add", 0, 0]
    back = written(fixed_to(tmp_path / "m.keras", tmp_path / "n.h5", KERAS_2), tmp_path / "n.h5")
    assert back["class_name"] == "Functional"
    assert back["config"]["layers"][2]["inbound_nodes"] == add["inbound_nodes"]


def test_options_with_the_value_that_counts_anyway_are_dropped(tmp_path):
    lstm = layer("LSTM", "r", units=2, time_major=False, recurrent_activation="sigmoid")
    zeros = {"class_name": "Zeros", "config": {"dtype": "float32"}}
    dense = layer("Dense", "d", units=2, bias_initializer=zeros)
    weights = arrays(r=[(3, 8), (2, 8), (8,)], d=[(2, 2), (2,)])
    source = write_h5(tmp_path / "m.h5", config=sequential(STEPS, lstm, dense), **weights)
    stored = written(fixed_to(source, tmp_path / "m.keras", KERAS_3), tmp_path / "m.keras")
    assert "time_major" not in stored["config"]["layers"][1]["config"]
    assert stored["config"]["layers"][2]["config"]["bias_initializer"] == {
        "module": "keras.initializers", "class_name": "Zeros", "config": {}, "registered_name": None,
    }  # fmt: skip


def test_a_value_that_the_target_does_not_have_is_refused(tmp_path):
    dense = layer("Dense", "d", units=2, activation="hard_silu")
    source = write_h5(
        tmp_path / "m.h5", config=sequential(STEPS, dense), version="3.15.1", **arrays(d=[(3, 2), (2,)])
    )
    fixed = fixed_to(source, tmp_path / "n.h5", KERAS_2)
    assert not fixed.ok
    assert fixed.remaining == [
        "layer `d` (Dense): the Keras of tensorflow 2.4.4 has no activation 'hard_silu'"
    ]
    with pytest.raises(tfport.Error, match="not written for"):
        fixed.save(tmp_path / "n.h5")


@pytest.mark.parametrize(
    ("name", "options", "shapes"),
    [
        ("LSTM", {}, [(3, 8), (2, 8), (8,)]),
        ("GRU", {"reset_after": True}, [(3, 6), (2, 6), (2, 6)]),
        ("GRU", {"reset_after": False}, [(3, 6), (2, 6), (6,)]),
        ("GRU", {"reset_after": True, "activation": "hard_sigmoid"}, [(3, 6), (2, 6), (2, 6)]),
        ("SimpleRNN", {"activation": "hard_sigmoid"}, [(3, 2), (2, 2), (2,)]),
        ("Bidirectional", {"inner": "LSTM"}, [(3, 8), (2, 8), (8,)] * 2),
        ("Bidirectional", {"inner": "GRU", "reset_after": True}, [(3, 6), (2, 6), (2, 6)] * 2),
    ],
)
def test_hard_sigmoid_gates_keep_their_meaning(tmp_path, name, options, shapes):
    gates = {} if name == "SimpleRNN" else {"recurrent_activation": "hard_sigmoid"}
    if inner := options.pop("inner", None):
        cell = layer(name, "r", layer=layer(inner, "inner", units=2, **gates, **options))
    else:
        cell = layer(name, "r", units=2, **gates, **options)
    source = write_h5(tmp_path / "m.h5", config=sequential(STEPS, cell), **arrays(r=shapes))
    fixed = fixed_to(source, tmp_path / "m.keras", KERAS_3)
    written(fixed, tmp_path / "m.keras")
    assert "scaled gates" in [entry.name for entry in fixed.journal.entries]
    x = {"steps": np.random.default_rng(1).normal(size=(2, 5, 3)).astype("f4") * 4}
    assert np.allclose(answers(tmp_path / "m.keras", x), answers(source, x), rtol=1e-5, atol=1e-6)


def test_hard_sigmoid_of_a_layer_is_written_as_layers(tmp_path):
    dense = layer("Dense", "d", units=2, activation="hard_sigmoid")
    last = layer("Activation", "a", activation="hard_sigmoid")
    source = write_h5(tmp_path / "m.h5", config=sequential(STEPS, dense, last), **arrays(d=[(3, 2), (2,)]))
    stored = written(fixed_to(source, tmp_path / "m.keras", KERAS_3), tmp_path / "m.keras")
    assert [(entry["class_name"], entry["config"]["name"]) for entry in stored["config"]["layers"]] == [
        ("InputLayer", "steps"),
        ("Dense", "d_before_activation"),
        ("Rescaling", "d_rescaling"),
        ("ReLU", "d"),
        ("Activation", "a_before_activation"),
        ("Rescaling", "a_rescaling"),
        ("ReLU", "a"),
    ]
    x = {"steps": np.random.default_rng(1).normal(size=(2, 5, 3)).astype("f4") * 4}
    assert np.allclose(answers(tmp_path / "m.keras", x), answers(source, x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("activation", "class_name"), [("relu6", "ReLU"), ("leaky_relu", "LeakyReLU")])
def test_activations_that_keras_2_does_not_have_are_layers(activation, class_name, tmp_path):
    dense = layer("Dense", "d", units=2, activation=activation)
    weights = arrays(d=[(3, 2), (2,)])
    source = write_h5(tmp_path / "m.h5", config=sequential(STEPS, dense), version="3.15.1", **weights)
    stored = written(fixed_to(source, tmp_path / "2.h5", "keras==2.10.0"), tmp_path / "2.h5")
    assert [(entry["class_name"], entry["config"]["name"]) for entry in stored["config"]["layers"]][1:] == [
        ("Dense", "d_before_activation"),
        (class_name, "d"),
    ]
    x = {"steps": np.random.default_rng(1).normal(size=(2, 5, 3)).astype("f4") * 9}
    assert np.allclose(answers(tmp_path / "2.h5", x), answers(source, x), rtol=1e-5, atol=1e-6)


def test_a_refusal_names_the_layer_of_the_file_and_not_those_of_a_rule(tmp_path):
    dense = layer("Dense", "d", units=2, activation="hard_sigmoid")
    weights = arrays(d=[(3, 2), (2,)])
    source = write_h5(tmp_path / "m.h5", config=sequential(STEPS, dense), version="3.15.1", **weights)
    assert fixed_to(source, tmp_path / "n.h5", "keras==2.3.1").remaining == [
        "layer `d` (Dense): its hard_sigmoid must be written as other layers, and keras 2.3.1 has no class "
        "Rescaling"
    ]


def test_hard_sigmoid_inside_time_distributed_is_written_as_layers(tmp_path):
    dense = layer("Dense", "inner", units=2, activation="hard_sigmoid")
    source = write_h5(
        tmp_path / "m.h5", config=sequential(STEPS, layer("TimeDistributed", "t", layer=dense)),
        **arrays(t=[(3, 2), (2,)]),
    )  # fmt: skip
    stored = written(fixed_to(source, tmp_path / "m.keras", KERAS_3), tmp_path / "m.keras")
    classes = [entry["class_name"] for entry in stored["config"]["layers"]]
    assert classes == ["InputLayer", "TimeDistributed", "Rescaling", "ReLU"]
    x = {"steps": np.random.default_rng(1).normal(size=(2, 5, 3)).astype("f4") * 4}
    assert np.allclose(answers(tmp_path / "m.keras", x), answers(source, x), rtol=1e-5, atol=1e-6)


def test_hard_sigmoid_of_a_state_is_refused(tmp_path):
    cell = layer("LSTM", "r", units=2, activation="hard_sigmoid", recurrent_activation="sigmoid")
    source = write_h5(tmp_path / "m.h5", config=sequential(STEPS, cell), **arrays(r=[(3, 8), (2, 8), (8,)]))
    fixed = fixed_to(source, tmp_path / "m.keras", KERAS_3)
    assert fixed.remaining == [
        "layer `r`: hard_sigmoid is applied to its state, but is a different function there"
    ]
    assert not fixed.journal.entries
    shown = str(fixed)
    assert "it cannot be rewritten for keras 3.15.1" in shown
    assert "rules applied" not in shown


@pytest.mark.parametrize(("name", "gates"), [("LSTM", 4), ("GRU", 3)])
def test_cudnn_layers_become_standard_ones(tmp_path, name, gates):
    cell = layer(f"CuDNN{name}", "r", units=2, return_sequences=True)
    weights = arrays(r=[(3, 2 * gates), (2, 2 * gates), (4 * gates,)])
    source = write_h5(tmp_path / "m.h5", config=sequential(STEPS, cell), **weights)
    stored = written(fixed_to(source, tmp_path / "m.keras", KERAS_3), tmp_path / "m.keras")
    assert stored["config"]["layers"][1]["class_name"] == name
    x = {"steps": np.random.default_rng(1).normal(size=(2, 5, 3)).astype("f4")}
    assert np.allclose(answers(tmp_path / "m.keras", x), answers(source, x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("output", "target", "why"),
    [
        ("m.h5", KERAS_3, "for keras 3.15.1 the file must end in .keras"),
        ("m.keras", KERAS_2, "for the Keras of tensorflow 2.4.4 the file must end in .h5"),
        ("m.KERAS", KERAS_2, "for the Keras of tensorflow 2.4.4 the file must end in .h5"),
        ("folder", KERAS_3, "folder: for keras 3.15.1 the file must end in .keras"),
        ("m.pb", KERAS_3, "m.pb: for keras 3.15.1 the file must end in .keras"),
    ],
)
def test_the_name_of_the_output_must_fit(tmp_path, output, target, why):
    source = write_h5(tmp_path / "source.h5")
    with pytest.raises(tfport.Error, match=why):
        fixed_to(source, tmp_path / output, target)


IMAGES = layer("InputLayer", "images", batch_shape=[None, 4, 4, 2], dtype="float32")
WORDS_OF_KERAS_2 = {  # a layer of Keras 3, its weights, and its options in Keras 2
    "rank is not written": (
        layer("SeparableConv2D", "c", rank=2, filters=3, kernel_size=[2, 2]),
        [(2, 2, 2, 1), (1, 1, 2, 3), (3,)],
        {"rank": None, "filters": 3},
    ),
    "the usual data format": (
        layer("Resizing", "c", height=2, width=3, data_format="channels_last"),
        [],
        {"data_format": None, "height": 2},
    ),
    "Identity": (layer("Identity", "c"), [], {"activation": "linear"}),
}


@pytest.mark.parametrize("case", WORDS_OF_KERAS_2)
def test_words_of_keras_3_become_those_of_keras_2(tmp_path, case):
    stored, shapes, options = WORDS_OF_KERAS_2[case]
    source = write_h5(
        tmp_path / "m.h5", config=sequential(IMAGES, stored), version="3.15.1", **arrays(c=shapes)
    )
    rewritten = written(fixed_to(source, tmp_path / "n.h5", KERAS_2), tmp_path / "n.h5")
    config = rewritten["config"]["layers"][1]["config"]
    assert {name: config.get(name) for name in options} == options


def attention_model(class_name, **options):
    """Attention over the steps themselves, called with a causal mask, as Keras 3 stores it."""
    steps = {"class_name": "__keras_tensor__", "config": {"keras_history": ["steps", 0, 0]}}
    args = [[steps, steps]] if class_name == "Attention" else [steps, steps]
    attend = {**layer(class_name, "a", **options), "module": "keras.layers", "name": "a"}
    attend["inbound_nodes"] = [{"args": args, "kwargs": {"use_causal_mask": True}}]
    first = {**layer("InputLayer", "steps", batch_shape=[None, 5, 3], dtype="float32"), "name": "steps"}
    ends = {"input_layers": {"x": ["steps", 0, 0]}, "output_layers": {"y": ["a", 0, 0]}}
    layers = [{**first, "module": "keras.layers", "inbound_nodes": []}, attend]
    return {"class_name": "Functional", "config": {"name": "m", "layers": layers, **ends}}


def test_a_causal_mask_becomes_an_option_and_dictionaries_stay(tmp_path):
    source = write_h5(
        tmp_path / "m.h5", config=attention_model("Attention"), version="3.15.1", **arrays(a=[])
    )
    stored = written(fixed_to(source, tmp_path / "n.h5", KERAS_2), tmp_path / "n.h5")["config"]
    assert stored["layers"][1]["config"]["causal"]
    assert stored["layers"][1]["inbound_nodes"] == [[["steps", 0, 0, {}], ["steps", 0, 0, {}]]]
    assert (stored["input_layers"], stored["output_layers"]) == ({"x": ["steps", 0, 0]}, {"y": ["a", 0, 0]})


def test_a_causal_mask_without_an_option_is_refused(tmp_path):
    config = attention_model("MultiHeadAttention", num_heads=1, key_dim=2, use_bias=False)
    shapes = [(3, 1, 2), (3, 1, 2), (3, 1, 2), (1, 2, 3)]
    source = write_h5(tmp_path / "m.h5", config=config, version="3.15.1", **arrays(a=shapes))
    (why,) = fixed_to(source, tmp_path / "n.h5", KERAS_2).remaining
    assert "has no use_causal_mask" in why


@pytest.mark.parametrize(
    ("stored", "why"),
    [
        (layer("UpSampling2D", "c", interpolation="bicubic"), "does not support interpolation='bicubic'"),
        (layer("Normalization", "c", mean=[1.0, 2.0], variance=[1.0, 2.0]), "does not support mean="),
        (layer("Flatten", "c", dtype="bfloat16"), "does not load weights of type bfloat16"),
        (layer("CenterCrop", "c", height=9, width=2), "the images are smaller than the crop"),
    ],
)
def test_values_that_only_later_releases_accept_are_refused(tmp_path, stored, why):
    source = write_h5(tmp_path / "m.h5", config=sequential(IMAGES, stored), version="3.15.1", **arrays(c=[]))
    (reason,) = fixed_to(source, tmp_path / "n.h5", KERAS_2).remaining
    assert why in reason


def test_a_suffix_in_capitals_is_the_same(tmp_path):
    written(fixed_to(write_h5(tmp_path / "m.h5"), tmp_path / "n.H5", KERAS_2), tmp_path / "n.H5")
    assert h5py.is_hdf5(tmp_path / "n.H5")


def test_without_h5py_it_says_what_to_install(tmp_path, monkeypatch):
    source = write_h5(tmp_path / "m.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(
        tfport.Error, match=r'needs h5py, which is not installed: pip install "tfport\[keras\]"'
    ):
        fixed_to(source, tmp_path / "n.keras", KERAS_3)
    assert [path.name for path in tmp_path.iterdir()] == ["m.h5"]


def test_a_folder_name_writes_a_saved_model(tmp_path):
    fixed = fixed_to(write_h5(tmp_path / "m.h5"), tmp_path / "saved", "tensorflow==1.15.5")
    fixed.save(tmp_path / "saved")
    assert np.allclose(answers(tmp_path / "saved", {"x": X}), expected(X), rtol=1e-6)


def test_a_graph_becomes_a_keras_file_only_as_a_graph(tmp_path):
    saved = fixed_to(write_h5(tmp_path / "m.h5"), tmp_path / "saved", "tensorflow==1.15.5")
    saved.save(tmp_path / "saved")
    with pytest.raises(
        tfport.Error, match=r"without the configuration of a Keras model.*`--as-graph` writes"
    ):
        fixed_to(tmp_path / "saved", tmp_path / "n.keras", KERAS_3)
    fixed = tfport.fix(tmp_path / "saved", on=KERAS_3, output=tmp_path / "n.keras", as_graph=True)
    assert fixed.ok, fixed.remaining
    fixed.save(tmp_path / "n.keras")
    assert np.allclose(answers(tmp_path / "n.keras", {"x": X}), expected(X), rtol=1e-5)


@pytest.mark.parametrize("mode", ["sum", "mul", "ave", "max", "concat", "dot"])
def test_merge_of_keras_1_becomes_the_layer_of_its_mode(tmp_path, mode):
    (model,) = (m for m in recorded("keras1", "keras-1.2.2") if m.case == f"Merge_{mode}")
    stored = written(fixed_to(model.write(tmp_path), tmp_path / "m.keras", KERAS_3), tmp_path / "m.keras")
    assert "Merge" not in {entry["class_name"] for entry in stored["config"]["layers"]}
    assert_answers(tfport.load(tmp_path / "m.keras"), model)


@pytest.mark.parametrize(
    "case",
    [
        "LSTM_plain",
        "LSTM_gpu",
        "GRU_memory",
        "Bidirectional_LSTM_ave",
        "ConvLSTM2D_plain",
        "Embedding_dropout",
    ],
)
def test_recurrent_layers_of_keras_1_get_joined_weights(tmp_path, case):
    (model,) = (m for m in recorded("keras1", "keras-1.2.2") if m.case == case)
    written(fixed_to(model.write(tmp_path), tmp_path / "m.keras", KERAS_3), tmp_path / "m.keras")
    assert_answers(tfport.load(tmp_path / "m.keras"), model)


@pytest.mark.parametrize("case", ["Attention_causal", "AdditiveAttention_causal"])
def test_the_option_causal_becomes_an_argument(tmp_path, case):
    (model,) = (m for m in recorded("attention", "tensorflow-2.4.4") if m.case == case)
    written(fixed_to(model.write(tmp_path), tmp_path / "m.keras", KERAS_3), tmp_path / "m.keras")
    assert_answers(tfport.load(tmp_path / "m.keras"), model)
