"""Stacks of convolutions before a crop have TensorFlow's answers, also for sequences that are too short."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

import tfport
from tfport.runtime.passes.islands import crop_margins
from tfport.runtime.passes.islands import cropped_layers as crops

v1 = tf.compat.v1
CHANNELS = 4


@pytest.fixture(autouse=True, scope="module")
def always():
    """Crop whether it pays or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crops, "LEAST_SAVED", 0)
        patch.setattr(crop_margins, "LEAST_CROP", 1)
        yield


def weights(rng, *shape):
    return rng.normal(size=shape, scale=0.3).astype(np.float32)


def normalized(x, rng):
    scale, offset = (tf.constant(weights(rng, CHANNELS)) for _ in range(2))
    return x * scale + offset


def residual_block(x, rng, width, dilation):
    inner = x
    for _ in range(2):
        inner = tf.nn.relu(normalized(inner, rng))
        filters = weights(rng, width, CHANNELS, CHANNELS)
        inner = tf.nn.convolution(inner, filters, padding="SAME", dilations=[dilation])
    return inner + x


def graph_of(blocks, before, after, size):
    rng = np.random.default_rng(0)
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [None, size, CHANNELS], name="x")
        skip = tf.nn.convolution(x, weights(rng, 1, CHANNELS, CHANNELS), padding="SAME")
        y = x
        for width, dilation in blocks:
            y = residual_block(y, rng, width, dilation)
            skip += tf.nn.convolution(y, weights(rng, 1, CHANNELS, CHANNELS), padding="SAME")
        tf.nn.softmax(skip[:, before : -after or None], name="y")
    return graph


def assert_same(graph, lengths):
    session = tfport.Session(tfport.load(graph.as_graph_def().SerializeToString()))
    with v1.Session(graph=graph) as theirs:
        for length in lengths:
            x = np.random.default_rng(1).normal(size=(2, length, CHANNELS)).astype(np.float32)
            right = theirs.run("y:0", {"x:0": x})
            answer = session.run("y:0", {"x:0": x})
            assert answer.shape == right.shape
            np.testing.assert_allclose(answer, right, rtol=1e-4, atol=1e-5)


BLOCKS = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5)), min_size=1, max_size=3)


@settings(max_examples=15, deadline=None)
@given(BLOCKS, st.integers(0, 40), st.integers(1, 40), st.booleans())
def test_residual_stacks(blocks, before, after, known):
    least = before + after + 1
    lengths = [least + 6] if known else [1, least - 1, least, least + 1, least + 50]
    assert_same(graph_of(blocks, before, after, lengths[0] if known else None), lengths)


@pytest.mark.parametrize("crop", [((2, 3), (4, 1)), ((0, 5), (7, 0))], ids=str)
@pytest.mark.parametrize("size", [None, 24])
def test_a_keras_model_of_images(crop, size):
    keras = tf.keras
    x = inputs = keras.Input((size, size, CHANNELS))
    for width, dilation in ((3, 1), (3, 2), (2, 3)):
        inner = keras.layers.Conv2D(
            CHANNELS, width, padding="same", dilation_rate=dilation, activation="elu"
        )(x)
        x = keras.layers.Add()([x, keras.layers.BatchNormalization()(inner)])
    y = keras.layers.Conv2D(2, 1)(keras.layers.Cropping2D(crop)(x))
    model = keras.Model(inputs, y)
    call = tf.function(model).get_concrete_function(tf.TensorSpec([None, size, size, CHANNELS], name="x"))
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    frozen = convert_variables_to_constants_v2(call)
    session = tfport.Session(tfport.load(frozen.graph.as_graph_def().SerializeToString()))
    for length in [24] if size else [24, 9, 11]:
        image = np.random.default_rng(0).normal(size=(1, length, length, CHANNELS)).astype(np.float32)
        answer = session.run(frozen.outputs[0].name, {"x:0": image})
        np.testing.assert_allclose(answer, model(image), rtol=1e-4, atol=1e-5)
