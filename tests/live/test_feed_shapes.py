"""Feeds of other shapes than declared: TensorFlow's C++ session computes, its Python session refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tests.recorded_models import graph
from tests.runtime.feed_shapes import FETCHES, GRAPH, SHAPES, value
from tests.runtime.programs import session_of

import tfport
from tfport.graph.build import graph_to_def

v1 = tf.compat.v1


def ask_cpp_session(session: Any, fetch: str, feed: str, array: np.ndarray) -> np.ndarray | None:
    """Return the answer of the session without Python's check of shapes; None for an error."""
    options = config_pb2.CallableOptions(feed=[feed], fetch=[fetch])
    try:
        (answer,) = session._make_callable_from_options(options)(array)
    except tf.errors.InvalidArgumentError:
        return None
    return np.asarray(answer)


@pytest.fixture(scope="module")
def tensorflow_session():
    definition = v1.GraphDef.FromString(graph_to_def(graph(GRAPH)).SerializeToString())
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(definition, name="")
    session = v1.Session(graph=imported)
    yield session
    session.close()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("fetch", FETCHES)
def test_the_ops_decide_as_in_tensorflow(tensorflow_session, fetch, shape):
    expected = ask_cpp_session(tensorflow_session, f"{fetch}:0", "x:0", value(shape))
    session = session_of(GRAPH)
    if expected is None:
        with pytest.raises(tfport.RunFailed):
            session.run(f"{fetch}:0", {"x:0": value(shape)}, any_shape=True)
    else:
        actual = session.run(f"{fetch}:0", {"x:0": value(shape)}, any_shape=True)
        np.testing.assert_array_equal(actual, expected, strict=True)


def test_the_python_session_checks_shapes(tensorflow_session):
    with pytest.raises(ValueError, match="Cannot feed value of shape"):
        tensorflow_session.run("line:0", {"x:0": value((3,))})


class HalfPlusTwo(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.slope = tf.Variable(0.5)

    @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.float32, "x")])
    def line(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"y": x * self.slope + 2.0, "rows": tf.shape(x)[:1]}


@pytest.mark.parametrize("shape", [(3,), (2, 2), (2, 1, 3), (3, 1)], ids=str)
def test_signatures_of_tensorflow_2_take_any_shape(tmp_path, shape):
    module = HalfPlusTwo()
    tf.saved_model.save(module, str(tmp_path), signatures=module.line)
    expected = tf.saved_model.load(str(tmp_path)).signatures["serving_default"](x=tf.constant(value(shape)))
    session = tfport.Session(str(tmp_path))
    signature = session.model.signatures["serving_default"]
    (feed,) = signature.inputs["x"].tensors
    for name, tensor in expected.items():
        actual = session.run(signature.outputs[name].tensors[0], {feed: value(shape)}, any_shape=True)
        np.testing.assert_array_equal(actual, tensor.numpy(), strict=True)
