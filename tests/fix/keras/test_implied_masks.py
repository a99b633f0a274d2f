"""Masks that Keras 3 stores as operations are left to Keras 2; those that nothing implies stay."""

import numpy as np
import pytest
from tests.fix.keras.test_fix import KERAS_2, answers, arrays, fixed_to, layer, written
from tests.frontends.keras.files import write_h5

from tfport.fix.keras.rewrite import without_implied_masks
from tfport.frontends.keras.config import model_config

IDS = np.array([[1, 2, 0, 0], [3, 0, 2, 0], [1, 1, 1, 1]], "i4")


def tensor(name):
    return {"class_name": "__keras_tensor__", "config": {"keras_history": [name, 0, 0]}}


def called(class_name, name, *args, module="keras.layers", mask=None, **options):
    kwargs = {} if mask is None else {"mask": tensor(mask)}
    node = {"args": list(args), "kwargs": kwargs}
    return {**layer(class_name, name, **options), "module": module, "inbound_nodes": [node]}


def operation(class_name, name, *args):
    return called(class_name, name, *args, module="keras.src.ops.numpy")


def functional(*layers):
    first = layer("InputLayer", "ids", batch_shape=[None, 4], dtype="int32")
    inputs = {**first, "module": "keras.layers", "inbound_nodes": []}
    ends = {"input_layers": ["ids", 0, 0], "output_layers": ["r", 0, 0]}
    stored = [{**entry, "name": entry["config"]["name"]} for entry in (inputs, *layers)]
    return {"class_name": "Functional", "config": {"name": "m", "layers": stored, **ends}}


def masked_model(value=0, mask_zero=True):
    return functional(
        called("Embedding", "e", tensor("ids"), input_dim=5, output_dim=3, mask_zero=mask_zero),
        operation("NotEqual", "not_equal", tensor("ids"), value),
        operation("ConvertToTensor", "convert", tensor("not_equal")),
        called("LSTM", "r", tensor("e"), mask="convert", units=2, recurrent_activation="sigmoid"),
    )


def test_the_rewritten_model_masks_as_the_original(tmp_path):
    weights = arrays(e=[(5, 3)], r=[(3, 8), (2, 8), (8,)])
    source = write_h5(tmp_path / "m.h5", config=masked_model(), version="3.15.1", **weights)
    fixed = fixed_to(source, tmp_path / "n.h5", KERAS_2)
    stored = written(fixed, tmp_path / "n.h5")
    assert [entry["name"] for entry in stored["config"]["layers"]] == ["ids", "e", "r"]
    assert stored["config"]["layers"][2]["inbound_nodes"] == [[["e", 0, 0, {}]]]
    assert "implied masks" in [entry.name for entry in fixed.journal.entries]
    result, expected = (answers(path, {"ids": IDS}) for path in (tmp_path / "n.h5", source))
    assert np.allclose(result, expected, rtol=1e-6)
    assert not np.allclose(result[0], answers(source, {"ids": np.maximum(IDS, 1)})[0])


@pytest.mark.parametrize(
    ("model", "changed"),
    [
        (masked_model(), ["r"]),
        (masked_model(value=1), []),
        (masked_model(mask_zero=False), []),
        (masked_model(value="0"), []),
    ],
)
def test_only_masks_that_follow_from_layers_are_removed(model, changed):
    config = model_config(model, "m")
    assert without_implied_masks(config) == changed
    assert len(config.layers) == (3 if changed else 5)


def test_operations_that_something_else_uses_stay():
    model = masked_model()
    model["config"]["output_layers"] = [["r", 0, 0], ["not_equal", 0, 0]]
    config = model_config(model, "m")
    assert without_implied_masks(config) == ["r"]
    assert [entry.name for entry in config.layers] == ["ids", "e", "not_equal", "r"]


def test_a_mask_that_nothing_implies_is_refused(tmp_path):
    weights = arrays(e=[(5, 3)], r=[(3, 8), (2, 8), (8,)])
    source = write_h5(tmp_path / "m.h5", config=masked_model(value=1), version="3.15.1", **weights)
    (why, *_) = fixed_to(source, tmp_path / "n.h5", KERAS_2).remaining
    says = "the Keras of tensorflow 2.4.4 has no class ConvertToTensor"
    assert why == f"layer `convert` (ConvertToTensor): {says}"
