"""Signatures with other names and sizes answer like the original; what cannot be changed is said at once."""

import json

import numpy as np
import pytest
from tests.frontends.keras.files import write_h5
from tests.recorded_models import graph, load, path_of

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.cli.main import main
from tfport.errors import Error
from tfport.fix.export import export_for, saved_with
from tfport.fix.options import FixOptions, SignatureChanges
from tfport.fix.verify_certificate import verify_certificate
from tfport.formats.files import MemoryFiles
from tfport.formats.graph_def.signature import GRAPH_DEF
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.graph.model import Model
from tfport.graph.shapes import Shape

IMAGE = np.random.default_rng(0).normal(size=(3, 4, 4, 1)).astype(np.float32)
WORD = np.array([[0, 1], [1, 0], [1, 1]], np.int32)


def changed(model, **changes):
    return saved_with(model, FixOptions(signature_changes=SignatureChanges(**changes)))


def answers(model, signature, **inputs):
    return tfport.Session(model).signature(signature)(**inputs)


def test_inputs_outputs_and_signatures_are_renamed():
    original = load("keras_functional")
    names = {
        "inputs": {"image": "word", "word": "image"},
        "outputs": {"features": "z"},
        "names": {"serve": "predict"},
    }
    model = changed(original, **names)
    assert list(model.signatures) == ["predict", "serving_default"]
    expected = answers(original, "serve", image=IMAGE, word=WORD)
    for name in model.signatures:
        answer = answers(model, name, word=IMAGE, image=WORD)
        assert np.array_equal(answer["z"], expected["features"])
        assert np.array_equal(answer["score"], expected["score"])


def test_a_head_gets_a_signature_of_its_own():
    model = changed(load("keras_functional"), heads={"embed": ("features",)}, outputs={"features": "vector"})
    assert list(model.signatures["embed"].outputs) == ["vector"]
    assert set(model.signatures["serving_default"].outputs) == {"vector", "score"}


def test_the_method_is_set():
    model = changed(load("half_plus_two"), method="regress")
    assert {s.method for s in model.signatures.values()} == {"tensorflow/serving/regress"}


@pytest.mark.parametrize(("batch", "size"), [(None, 3), (2, 2)])
def test_a_fixed_batch_is_opened_or_set(batch, size):
    original = load("half_plus_two_tf2")
    model = saved_with(
        original, FixOptions(signatures=("serving_default",), signature_changes=SignatureChanges(batch=batch))
    )
    assert model.signatures["serving_default"].inputs["x"].shape == Shape((batch,))
    assert answers(model, "serving_default", x=np.arange(size, dtype=np.float32))["y"].shape == (size,)


def test_all_problems_are_named_at_once():
    with pytest.raises(Error) as error:
        changed(
            load("keras_functional"),
            inputs={"picture": "x", "word": "image"},
            outputs={"scores": "y"},
            names={"": "predict", "train": "fit"},
            heads={"embed": ("feature",)},
            shapes={"image": (None, 4)},
        )
    text = str(error.value)
    for problem in (
        "no input `picture`; inputs: image, word",
        "no output `scores`",
        "no signature `train`",
        "it has several signatures",
        "no signature has all outputs of `embed`: feature",
        "two inputs of `serve` would be named `image`",
        "input `image` has the shape (?, 4, 4, 1), which (?, 4) does not fit",
    ):
        assert problem in text


RESHAPED = """
    x = Placeholder() {dtype=float32, shape=(1, 4)}
    sizes = Const() {dtype=int32, value=int32(2)[2, 2]}
    y = Reshape(x, sizes) {T=float32, Tshape=int32}
"""
MIXED = """
    x = Placeholder() {dtype=float32, shape=(1, 4)}
    axes = Const() {dtype=int32, value=int32(2)[0, 1]}
    mean = Mean(x, axes) {T=float32, Tidx=int32, keep_dims=true}
    y = Sub(x, mean) {T=float32}
"""


@pytest.mark.parametrize(
    ("text", "why"),
    [(RESHAPED, r"does not run with x \(3, 4\)"), (MIXED, "the model mixes the examples of a batch")],
)
def test_a_batch_that_the_graph_depends_on_cannot_be_changed(text, why):
    model = Model("m", GRAPH_DEF, MemoryFiles("m", {}), graph(text), pb.MetaGraphDef())
    with pytest.raises(Error, match=why):
        changed(model, batch=None)


def test_a_rewritten_model_with_new_names_is_verified_again(tmp_path):
    (target,) = resolve_targets("tensorflow==1.15.5")
    options = FixOptions(
        signatures=("serve",),
        signature_changes=SignatureChanges(inputs={"word": "ids"}, names={"serve": "serving_default"}),
    )
    fixed = export_for(load("keras_functional"), target, as_graph=False, options=options)
    fixed.save(tmp_path / "m")
    written = tfport.load(str(tmp_path / "m"))
    assert list(written.signatures) == ["serving_default"]
    assert list(written.signatures["serving_default"].inputs) == ["ids", "image"]
    certificate = tmp_path / "m.certificate.json"
    assert json.loads(certificate.read_text())["input"]["signature_changes"] == {
        "inputs": {"word": "ids"},
        "names": {"serve": "serving_default"},
        "keep": ["serve"],
    }
    assert verify_certificate(certificate).verdict == "verified"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rename-input", "image"], "--rename-input image: expected a name"),
        (["--batch", "many"], "--batch: `many` is not a size"),
        (["--head", "a=x", "--head", "a=y"], "--head: a is given twice"),
    ],
)
def test_wrong_options_are_explained(tmp_path, capsys, arguments, message):
    assert main(["export", path_of("keras_functional"), "-o", str(tmp_path / "m"), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_the_command_renames(tmp_path, capsys):
    out = tmp_path / "m"
    arguments = [
        "--rename-input",
        "word=ids",
        "--signature",
        "serve",
        "--signature-name",
        "go",
        "--batch",
        "none",
    ]
    assert main(["export", path_of("keras_functional"), "-o", str(out), *arguments]) == 0
    assert "signature go" in capsys.readouterr().out
    assert list(tfport.load(str(out)).signatures["go"].inputs) == ["ids", "image"]


def test_a_layers_model_has_no_names_to_change(tmp_path, capsys):
    model, out = write_h5(tmp_path / "m.h5"), tmp_path / "web"
    arguments = ["--format", "tfjs-layers", "-o", str(out), "--rename-input", "x=y"]
    assert main(["export", model, *arguments]) == 2
    assert "a layers model has no signatures" in capsys.readouterr().err
    assert not out.exists()
