"""Keras files in TensorFlow and Keras themselves: summaries, exported SavedModels, rewritten files."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers
from tests.fix.keras.test_fix import KERAS_3, STEPS, arrays, fixed_to, layer, sequential
from tests.frontends.keras.files import X, expected, write_h5

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.export import export_for, export_model
from tfport.fix.options import FixOptions
from tfport.fix.structure import large_constants

v1 = tf.compat.v1
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Keras itself


def two_heads() -> keras.Model:
    image, extras = keras.Input((8, 8, 3), name="image"), keras.Input((5,), name="extras")
    inner = keras.Sequential(
        [keras.Input((6, 6, 4)), layers.BatchNormalization(), layers.Flatten()], name="inner"
    )
    frozen = layers.Conv2D(4, 3, activation="relu", name="frozen", trainable=False)
    x = layers.Concatenate(name="both")([inner(frozen(image)), extras])
    outputs = [layers.Dense(3, activation="softmax", name="scores")(x), layers.Dense(1, name="value")(x)]
    return keras.Model([image, extras], outputs, name="two_heads")


def test_a_feature_space_loads_and_answers_as_in_keras(tmp_path):
    rows = {"age": np.float32([[20], [40], [61]]), "town": np.array([["a"], ["b"], ["a"]])}
    space = keras.utils.FeatureSpace({"age": "float_normalized", "town": "string_categorical"})
    space.adapt(tf.data.Dataset.from_tensor_slices(rows))
    model = keras.Model(space.get_inputs(), layers.Dense(2)(space.get_encoded_features()))
    path = str(tmp_path / "m.keras")
    model.save(path)
    expected = keras.models.load_model(path)({name: tf.constant(value) for name, value in rows.items()})
    assert tfport.check(path, on=f"keras=={keras.__version__}").verdict == "unknown"  # without TensorFlow
    both = f"keras=={keras.__version__} tensorflow=={tf.__version__}"
    assert tfport.check(path, on=both).verdict == "runs"
    (answer,) = tfport.Session(path).signature("serving_default")(**rows).values()
    np.testing.assert_allclose(answer, expected.numpy(), rtol=1e-5)


def test_operations_in_an_h5_file_that_keras_3_cannot_open_are_rewritten(tmp_path):
    x = keras.Input((3,), name="x")
    model = keras.Model(x, layers.Dense(2)(x + 3.0) * 0.5)
    model.save(tmp_path / "m.h5")
    with pytest.raises(ValueError, match="should be passed as a keyword argument"):
        keras.models.load_model(tmp_path / "m.h5")
    tfport.fix(str(tmp_path / "m.h5"), target=f"keras=={keras.__version__}").save(str(tmp_path / "m.keras"))
    rows = np.float32([[1, 2, 3], [4, 5, 6]])
    rewritten = keras.models.load_model(tmp_path / "m.keras")
    assert np.array_equal(rewritten(rows).numpy(), model(rows).numpy())


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_the_summary_has_the_shapes_and_parameters_of_keras(tmp_path, suffix):
    model = two_heads()
    model.save(tmp_path / f"m{suffix}")
    summary = tfport.inspect(str(tmp_path / f"m{suffix}")).keras.summary
    own = [row for row in summary.layers if row.depth == 0]
    assert [(row.name, row.parameters) for row in own] == [(x.name, x.count_params()) for x in model.layers]
    shapes = {x.name: tuple(x.output.shape) for x in model.layers}
    assert {row.name: row.shapes[0] for row in own} == shapes
    assert summary.parameters == model.count_params()
    assert summary.trainable == sum(int(np.prod(w.shape)) for w in model.trainable_weights)


@pytest.mark.parametrize("target", [None, "tensorflow==1.15.5"])
@pytest.mark.parametrize("with_variables", [False, True])
def test_tensorflow_runs_the_exported_model(tmp_path, monkeypatch, target, with_variables):
    if with_variables:
        monkeypatch.setattr(large_constants, "LARGE", 1)
        monkeypatch.setattr(large_constants, "MOST_BYTES", 1)
    model = tfport.load(write_h5(tmp_path / "m.h5"))
    path = str(tmp_path / "saved")
    if target is None:
        export_model(model, path, as_graph=False, options=FixOptions())
    else:
        export_for(model, resolve_targets(target)[0], as_graph=False, options=FixOptions()).save(path)
    loaded = tf.saved_model.load(path).signatures["serving_default"](x=tf.constant(X))
    assert np.allclose(loaded["scores"].numpy(), expected(X), rtol=1e-5)
    with v1.Session(graph=tf.Graph()) as session:
        meta = v1.saved_model.loader.load(session, ["serve"], path)
        signature = meta.signature_def["serving_default"]
        feeds = {signature.inputs["x"].name: X}
        assert np.allclose(session.run(signature.outputs["scores"].name, feeds), expected(X), rtol=1e-5)


CASES = {
    "LSTM": (
        [layer("LSTM", "r", units=2, time_major=False, recurrent_activation="sigmoid")],
        {"r": [(3, 8), (2, 8), (8,)]},
    ),
    "hard LSTM": (
        [layer("LSTM", "r", units=2, recurrent_activation="hard_sigmoid")],
        {"r": [(3, 8), (2, 8), (8,)]},
    ),
    "hard GRU": (
        [layer("GRU", "r", units=2, recurrent_activation="hard_sigmoid", reset_after=False)],
        {"r": [(3, 6), (2, 6), (6,)]},
    ),
    "CuDNNLSTM": ([layer("CuDNNLSTM", "r", units=2)], {"r": [(3, 8), (2, 8), (16,)]}),
    "CuDNNGRU": ([layer("CuDNNGRU", "r", units=2)], {"r": [(3, 6), (2, 6), (12,)]}),
    "both ways": (
        [layer("Bidirectional", "b", layer=layer("CuDNNLSTM", "r", units=2), merge_mode="concat")],
        {"b": [(3, 8), (2, 8), (16,), (3, 8), (2, 8), (16,)]},
    ),
    "hard Dense": ([layer("Dense", "d", units=2, activation="hard_sigmoid")], {"d": [(3, 2), (2,)]}),
    "over time": (
        [layer("TimeDistributed", "t", layer=layer("Dense", "d", units=2))],
        {"t": [(3, 2), (2,)]},
    ),
    "normalized": (
        [layer("BatchNormalization", "n", axis=[2], fused=None, renorm=False, virtual_batch_size=None)],
        {"n": [(3,), (3,), (3,), (3,)]},
    ),
}


# the arguments of compile are written, the state of the optimizer is not
@pytest.mark.filterwarnings("ignore:Skipping variable loading for optimizer")
@pytest.mark.parametrize("name", CASES)
def test_keras_3_loads_the_rewritten_file_and_answers_alike(tmp_path, name):
    config, shapes = CASES[name]
    weights = {owner: {k: abs(a) for k, a in own.items()} for owner, own in arrays(**shapes).items()}
    source = write_h5(tmp_path / "m.h5", config=sequential(STEPS, *config), **weights)
    fixed = fixed_to(source, tmp_path / "m.keras", KERAS_3)
    fixed.save(tmp_path / "m.keras")
    x = np.random.default_rng(1).normal(size=(2, 5, 3)).astype("f4") * 3
    answer = next(iter(tfport.Session(source).signature("serving_default")(steps=x).values()))
    assert np.allclose(keras.saving.load_model(tmp_path / "m.keras")(x), answer, rtol=1e-5, atol=1e-6)
