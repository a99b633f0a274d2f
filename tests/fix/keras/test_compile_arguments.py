"""Arguments of compile: those that a release has are written, others are left out with the reason.

`docs/evidence/keras.md` has what real releases did with them.
"""

import json
import zipfile

import h5py
import pytest
from tests.frontends.keras.files import write_h5

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.keras.compile_arguments import compile_arguments
from tfport.fix.keras.dialect import Dialect
from tfport.formats.keras.records import KerasFile

ADAM = {"class_name": "Custom>Adam", "config": {"learning_rate": 0.01, "is_legacy_optimizer": False}}
OLD_ADAM = {"class_name": "Adam", "config": {"name": "Adam", "learning_rate": 0.01, "decay": 0.0}}
ACCURACY = {"class_name": "MeanMetricWrapper", "config": {"name": "accuracy", "fn": "binary_accuracy"}}
CROSSENTROPY = {
    "class_name": "BinaryCrossentropy",
    "config": {"reduction": "auto", "name": "loss", "from_logits": True, "axis": -1},
}


def arguments(target, outputs=1, **training):
    (resolved,) = resolve_targets(target)
    file = KerasFile("m.h5", "h5", None, None, "2.8.0", training={"loss": "mse", **training})
    return compile_arguments(file, Dialect(resolved.keras), outputs)


@pytest.mark.parametrize(
    "target", ["tensorflow==2.3.4", "tensorflow==2.8.4", "tensorflow==2.15.1", "keras==3.15.1"]
)
@pytest.mark.parametrize("optimizer", [ADAM, OLD_ADAM])
def test_an_optimizer_has_the_options_of_the_release(target, optimizer):
    stored = arguments(target, optimizer_config=optimizer).stored
    found = stored["optimizer" if target.startswith("keras") else "optimizer_config"]
    assert (found["class_name"], found["config"]["learning_rate"]) == ("Adam", 0.01)
    assert found["config"].get("is_legacy_optimizer") == (False if "2.15" in target else None)
    assert ("decay" in found["config"]) == (optimizer is OLD_ADAM and "2.15" not in target)


def test_losses_and_metrics_become_objects_of_the_release():
    stored = arguments(
        "keras==3.15.1", optimizer_config=ADAM, loss=CROSSENTROPY, metrics=[[ACCURACY, "mae"]]
    ).stored
    assert stored["loss"]["module"] == "keras.losses"
    assert stored["loss"]["config"] == {"from_logits": True, "axis": -1, "name": "loss"}
    accuracy, error = stored["metrics"]
    assert (accuracy["class_name"], accuracy["config"]) == ("BinaryAccuracy", {"name": "accuracy"})
    assert (error["class_name"], error["config"]) == ("MeanAbsoluteError", {"name": "mae"})
    two = arguments("keras==3.15.1", 2, optimizer_config=ADAM, metrics=[["accuracy"], ["mse"]]).stored
    assert [len(part) for part in two["metrics"]] == [1, 1]


def test_a_metric_that_the_release_does_not_have_is_left_out():
    found = arguments(
        "tensorflow==2.3.4", optimizer_config=ADAM, metrics=["mae", {"class_name": "F1Score", "config": {}}]
    )
    assert [metric["class_name"] for metric in found.stored["metrics"]] == ["MeanAbsoluteError"]
    assert len(found.dropped) == 1


@pytest.mark.parametrize(
    ("training", "why"),
    [
        ({"optimizer_config": {"class_name": "Lion", "config": {}}}, "has no optimizer Lion"),
        (
            {"optimizer_config": {"class_name": "Adam", "config": {"weight_decay": 0.1}}},
            "has no option `weight_decay`",
        ),
        ({"optimizer_config": ADAM, "loss": "my_loss"}, "has no loss my_loss"),
        ({"optimizer_config": ADAM, "loss": {"class_name": "Mine", "config": {}}}, "has no loss Mine"),
        ({}, "states no optimizer"),
    ],
)
def test_without_its_optimizer_or_loss_nothing_is_written(training, why):
    found = arguments("tensorflow==2.8.4", **training)
    assert found.stored is None
    assert why in found.why


def test_the_file_has_them_and_the_certificate_says_so(tmp_path):
    source = write_h5(tmp_path / "m.h5")
    with h5py.File(source, "a") as file:
        file.attrs["training_config"] = json.dumps(
            {"optimizer_config": OLD_ADAM, "loss": "mse", "metrics": ["mae"]}
        )
    for target, out in (("keras==3.15.1", tmp_path / "m.keras"), ("tensorflow==2.8.4", tmp_path / "n.h5")):
        fixed = tfport.fix(tfport.load(str(source)), on=target, output=out)
        fixed.save(out)
        assert "new optimizer" in [rule["name"] for rule in fixed.to_json()["rules"]]
    with zipfile.ZipFile(tmp_path / "m.keras") as archive:
        assert json.loads(archive.read("config.json"))["compile_config"]["loss"] == "mse"
    with h5py.File(tmp_path / "n.h5") as file:
        assert json.loads(file.attrs["training_config"])["optimizer_config"]["class_name"] == "Adam"
