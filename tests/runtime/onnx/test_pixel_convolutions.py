"""Convolutions of single pixels as one node each; ONNX Runtime's CPU provider has that node too."""

import numpy as np
import pytest

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.model import NodeForms, onnx_model
from tfport.runtime.onnx.pixel_convolutions import with_pixel_convolutions
from tfport.runtime.operand import Operand

CHANNELS, OUT, HEIGHT, WIDTH = 128, 6, 5, 3
MANY, FEW = 200, 199
"""Images with enough pixels, and too few."""
random = np.random.default_rng(0)


def numbers(*shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def image(channels=CHANNELS, *, batch=None, size=(HEIGHT, WIDTH)):
    return Operand(FLOAT32, (batch, channels, *size), name="image")


def block(  # one block of a residual network
    *, x=None, channels=CHANNELS, bias=True, shortcut=None, kernel=1, after="Relu", **attrs
):
    b = Builder("test")
    x = x or image(channels)
    weights = b.const(numbers(OUT, channels, kernel, kernel), FLOAT32)
    offset = [b.const(numbers(OUT), FLOAT32)] if bias else []
    result = b.Conv(x, weights, *offset, kernel_shape=[kernel, kernel], **attrs)
    if shortcut == "from x":
        other = b.const(numbers(OUT, channels, 3, 3), FLOAT32)
        result = b.Add(b.Conv(x, other, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), result)
    elif shortcut is not None:
        result = b.Add(result, shortcut)
    output = getattr(b, after)(result)
    inputs = [x] if shortcut in (None, "from x") else [x, shortcut]
    return b.made, inputs, output


def answers(nodes, inputs, output, arrays):
    island = onnx_model(nodes, inputs, [output], forms=NodeForms.PLAIN)
    names = [info.name for info in island.model.graph.input]
    model = island.model.SerializeToString()
    run = OnnxRuntime(1).compile(model, island.weights, names, [island.model.graph.output[0].name])
    return run(arrays)[0]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shortcut", [None, "from x"])
@pytest.mark.parametrize("batch", [1, 4])
def test_one_node_gives_the_same_answers(bias, shortcut, batch):
    nodes, inputs, output = block(bias=bias, shortcut=shortcut)
    fused = with_pixel_convolutions(nodes, [output], MANY)
    ops = [node.op for node in fused]
    assert ops.count("FusedConv") == 1
    assert not {"Add", "Relu"} & set(ops)
    x = [numbers(batch, CHANNELS, HEIGHT, WIDTH)]
    np.testing.assert_allclose(
        answers(fused, inputs, output, x), answers(nodes, inputs, output, x), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    "parts",
    [
        {"kernel": 3},
        {"strides": [2, 2]},
        {"after": "Sigmoid"},
        {"channels": 64, "shortcut": "from x"},  # slower
        {"shortcut": image(OUT)},  # another input, which may be one image for all
        {"shortcut": image(OUT, batch=1)},
        {"x": image(size=(None, WIDTH))},
    ],
)
def test_others_stay_as_they_are(parts):
    nodes, _, output = block(**parts)
    assert with_pixel_convolutions(nodes, [output], MANY) == nodes


def test_a_result_that_something_else_reads_is_computed_for_itself():
    nodes, _, output = block()
    assert with_pixel_convolutions(nodes, [output, nodes[-1].inputs[0]], MANY) == nodes


def test_a_shortcut_of_few_channels_leaves_a_convolution_without_one():
    nodes, _, output = block(channels=64)
    assert "FusedConv" in [node.op for node in with_pixel_convolutions(nodes, [output], MANY)]


def test_an_input_with_the_known_number_of_images_is_a_shortcut():
    nodes, _, output = block(x=image(batch=MANY), shortcut=image(OUT, batch=MANY))
    assert "FusedConv" in [node.op for node in with_pixel_convolutions(nodes, [output], MANY)]


def test_few_pixels_are_computed_as_before():
    nodes, _, output = block()
    assert with_pixel_convolutions(nodes, [output], FEW) == nodes
    nodes, _, output = block(x=image(batch=FEW))
    assert with_pixel_convolutions(nodes, [output], MANY) == nodes
