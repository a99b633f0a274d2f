"""Keras 3 saved with `tf.saved_model.save`: the restore op omits the variables that signatures read."""

import numpy as np
import pytest
import tensorflow as tf

import tfport


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    import keras

    path = str(tmp_path_factory.mktemp("saved") / "model")
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    module = tf.Module()
    module.parts = [model]
    call = tf.function(lambda x: {"y": model(x)}, input_signature=[tf.TensorSpec([None, 3], name="x")])
    tf.saved_model.save(module, path, signatures={"serving_default": call})
    return path


X = np.float32([[1, 2, 3], [4, 5, 6]])


def test_a_session_of_tensorflow_cannot_run_it_and_check_says_so(saved):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        signature = v1.saved_model.load(session, ["serve"], saved).signature_def["serving_default"]
        with pytest.raises(tf.errors.FailedPreconditionError, match="Could not find variable"):
            session.run(signature.outputs["y"].name, {signature.inputs["x"].name: X})
    model = tfport.load(saved)
    verdicts = {
        loader: tfport.check(model, on=f"tensorflow=={tf.__version__}", loader=loader).verdict
        for loader in ("serving", "python")
    }
    assert verdicts == {"serving": "fails", "python": "runs"}
    report = tfport.check(model, on=f"tensorflow=={tf.__version__}", loader="serving")
    assert {finding.code for finding in report.findings if finding.severity == "error"} == {"TFP032"}


def test_tfport_answers_as_python_does(saved):
    expected = tf.saved_model.load(saved).signatures["serving_default"](x=tf.constant(X))["y"].numpy()
    assert tfport.check(saved, on="tfport").verdict == "runs"
    output = tfport.Session(saved).signature("serving_default")(x=X)["y"]
    np.testing.assert_allclose(output, expected, rtol=1e-5)


def test_layers_in_a_list_share_names_and_keep_their_own_weights(tmp_path):
    import keras

    class Stack(keras.Model):
        def __init__(self):
            super().__init__()
            self.stack = [keras.layers.Dense(3, bias_initializer="random_normal") for _ in range(3)]

        def call(self, x):
            for layer in self.stack:
                x = layer(x)
            return x

    model = Stack()
    expected = model(X).numpy()
    tf.saved_model.save(model, str(tmp_path / "model"))
    session = tfport.Session(str(tmp_path / "model"))
    (name,) = session.model.signatures["serving_default"].inputs
    (answer,) = session.signature("serving_default")(**{name: X}).values()
    np.testing.assert_allclose(answer, expected, rtol=1e-5)


@pytest.mark.parametrize("names", [(None,), (None, None), ("a", None)])
def test_unnamed_variables_are_not_taken_for_the_path_of_an_asset(names, tmp_path):
    (tmp_path / "words.txt").write_text("alpha\nbeta\n")
    whole, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    words = tf.lookup.TextFileInitializer(str(tmp_path / "words.txt"), tf.string, whole, tf.int64, number)
    module = tf.Module()
    module.table = tf.lookup.StaticHashTable(words, -1)
    module.factors = [tf.Variable(np.float32([i + 2, i + 3]), name=name) for i, name in enumerate(names)]

    def call(x):
        y = tf.cast(module.table.lookup(x), tf.float32)
        for factor in module.factors:
            y = y * factor
        return {"y": y}

    text = tf.TensorSpec([2], tf.string, name="x")
    path, x = str(tmp_path / "model"), np.array([b"beta", b"gamma"], object)
    tf.saved_model.save(module, path, signatures=tf.function(call, input_signature=[text]))
    expected = tf.saved_model.load(path).signatures["serving_default"](x=tf.constant(x))["y"].numpy()
    np.testing.assert_allclose(tfport.Session(path).signature("serving_default")(x=x)["y"], expected)
