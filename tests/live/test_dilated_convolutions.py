"""Dilated convolutions as TensorFlow writes them are one convolution in tfport, with TensorFlow's answers."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import pytest
import tensorflow as tf

import tfport

v1 = tf.compat.v1
RANDOM = np.random.default_rng(0)


def weights(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


W1, W2, POINT = weights(3, 2, 4), weights(3, 2, 2, 4), weights(1, 1, 8, 3)
EACH = [1, 1, 1, 1]
BUILDERS = {  # name: the axes of its input (a letter is unknown), and what makes it
    "convolution_2d": ("NHW2", lambda x, pad: v1.nn.convolution(x, W2, pad, dilation_rate=[2, 3])),
    "rows_only": ("NHW2", lambda x, pad: v1.nn.convolution(x, W2, pad, dilation_rate=[3, 1])),
    "atrous": ("NHW2", lambda x, pad: tf.nn.atrous_conv2d(x, W2, 2, pad)),
    "convolution_1d": ("NW2", lambda x, pad: tf.nn.convolution(x, W1, padding=pad, dilations=[4])),
    "channels_first": (
        "N2HW",
        lambda x, pad: v1.nn.convolution(x, W2, pad, dilation_rate=[2, 3], data_format="NCHW"),
    ),
    "channels_first_1d": (
        "N2W",
        lambda x, pad: v1.nn.convolution(x, W1, pad, dilation_rate=[2], data_format="NCW"),
    ),
    "depthwise": ("NHW2", lambda x, pad: v1.nn.depthwise_conv2d(x, W2, EACH, pad, rate=[2, 2])),
    "separable": ("NHW2", lambda x, pad: v1.nn.separable_conv2d(x, W2, POINT, EACH, pad, rate=[2, 2])),
    "known_sizes": ("N972", lambda x, pad: v1.nn.convolution(x, W2, pad, dilation_rate=[2, 3])),
    "of_relu": ("NHW2", lambda x, pad: v1.nn.convolution(tf.nn.relu(x), W2, pad, dilation_rate=[2, 3])),
    "twice": (
        "NHW2",
        lambda x, pad: tf.nn.atrous_conv2d(
            tf.nn.relu(tf.nn.atrous_conv2d(x, W2, 2, pad)), POINT[:, :, :4], 3, pad
        ),
    ),
}
CHANNELS_FIRST = ("channels_first", "channels_first_1d")
"""TensorFlow has no such convolution on CPUs, so that only the form is compared."""


def graph_of(name, padding):
    axes, make = BUILDERS[name]
    with tf.Graph().as_default() as graph:
        x = v1.placeholder(tf.float32, [int(a) if a.isdigit() else None for a in axes], name="x")
        tf.identity(make(x, padding), name="y")
    return graph


def shapes_of(name, sizes):
    axes, _ = BUILDERS[name]
    letters = dict(zip("HW", sizes, strict=True), N=2)
    return [int(a) if a.isdigit() else letters[a] for a in axes]


def nodes_of(session):
    program = session.program(["y:0"], ["x:0"])
    assert not any(step.op.startswith(("SpaceToBatch", "BatchToSpace")) for step in program.steps)
    return [node for step in program.steps for node in step.lowered]


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("name", BUILDERS)
def test_answers(name, padding):
    graph = graph_of(name, padding)
    session = tfport.Session(tfport.load(graph.as_graph_def().SerializeToString()))
    dilated = [node for node in nodes_of(session) if node.op == "Conv" and max(node.attrs["dilations"]) > 1]
    assert len(dilated) == (2 if name == "twice" else 1)
    if name in CHANNELS_FIRST:
        return
    with v1.Session(graph=graph) as theirs:
        for sizes in ((17, 12), (16, 20), (40, 9), (9, 10)):
            x = RANDOM.normal(size=shapes_of(name, sizes)).astype(np.float32)
            x.reshape(-1)[3] = np.nan
            right = theirs.run("y:0", {"x:0": x})
            np.testing.assert_allclose(session.run("y:0", {"x:0": x}), right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("name", ["convolution_2d", "convolution_1d", "depthwise"])
@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (3, 4), (4, 3), (5, 8), (0, 5)], ids=str)
def test_short_inputs(name, padding, sizes):
    """An image that is smaller than the window: TensorFlow's answer, or an error where it has one."""
    graph = graph_of(name, padding)
    session = tfport.Session(tfport.load(graph.as_graph_def().SerializeToString()))
    x = RANDOM.normal(size=shapes_of(name, sizes)).astype(np.float32)
    with v1.Session(graph=graph) as theirs:
        try:
            right = theirs.run("y:0", {"x:0": x})
        except tf.errors.InvalidArgumentError:
            with pytest.raises(tfport.Error):
                session.run("y:0", {"x:0": x})
        else:
            np.testing.assert_allclose(session.run("y:0", {"x:0": x}), right, rtol=1e-5, atol=1e-5)
