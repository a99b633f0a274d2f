"""What cuDNN computes at once: a convolution, what is added to it, and a Relu."""

import numpy as np
import pytest

from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.fused_convolution import fused_convolutions

X = Operand(FLOAT32, (None, 8, 10, 12), name="x")


def conv(b, x, *, outputs=8, window=3, bias=True, **attrs):
    """A convolution whose output has the size of its input, unless the attributes say otherwise."""
    weights = b.const(np.ones((outputs, x.shape[1] // attrs.get("group", 1), window, window)), x.dtype)
    added = [b.const(np.arange(outputs), x.dtype)] if bias else []
    attrs = {"pads": [window // 2] * 4} | attrs
    return b.Conv(x, weights, *added, kernel_shape=[window, window], **attrs)


def found(b, *outputs):
    return fused_convolutions(b.added, outputs)


def ops(fused):
    return [[node.op for node in each.nodes] for each in fused]


def test_a_block_of_a_residual_network():
    b = Builder("test")
    first = b.Relu(conv(b, X))
    second = b.Relu(b.Add(conv(b, first), X))
    fused = found(b, second)
    assert ops(fused) == [["Conv", "Relu"], ["Conv", "Add", "Relu"]]
    assert [each.shortcut for each in fused] == [None, X]
    assert [each.relu for each in fused] == [True, True]
    assert [each.output for each in fused] == [first, second]


def test_of_two_convolutions_that_are_added_the_second_adds_the_first():
    b = Builder("test")
    one = conv(b, X, window=1)
    two = conv(b, X)
    fused = found(b, b.Relu(b.Add(two, one)))
    assert ops(fused) == [["Conv"], ["Conv", "Add", "Relu"]]
    assert fused[1].shortcut is one


def test_what_is_computed_later_is_not_added():
    b = Builder("test")
    one = conv(b, X)
    fused = found(b, b.Add(one, b.Tanh(b.Sigmoid(X))))
    assert ops(fused) == [["Conv"]]


@pytest.mark.parametrize("end", ["an output", "another reader"])
def test_a_result_that_is_read_elsewhere_stays(end):
    b = Builder("test")
    result = conv(b, X)
    output = b.Relu(result)
    fused = found(b, output, result if end == "an output" else b.Tanh(result))
    assert ops(fused) == [["Conv"]]


def test_what_is_added_must_be_an_image_of_the_same_size():
    for other in (Operand(FLOAT32, (None, 8, 1, 1)), Operand(FLOAT32)):
        b = Builder("test")
        assert ops(found(b, b.Add(conv(b, X), other))) == [["Conv"]]
    b = Builder("test")
    assert ops(found(b, b.Relu(b.Add(conv(b, X), b.const(np.ones((8, 1, 1)), FLOAT32))))) == [["Conv"]]
    b = Builder("test")
    result = conv(b, X)
    assert ops(found(b, b.Add(result, result))) == [["Conv"]]


@pytest.mark.parametrize(
    ("x", "attrs"),
    [
        (X, {"group": 8}),
        (X, {"pads": [0, 0, 1, 1]}),
        (X, {"auto_pad": "SAME_UPPER", "pads": None}),
        (X, {"outputs": 6}),
        (Operand(DType.parse("float64"), X.shape), {}),
    ],
)
def test_other_convolutions_are_left_to_onnx_runtime(x, attrs):
    b = Builder("test")
    attrs = {"pads": [1] * 4} | attrs
    if attrs["pads"] is None:
        del attrs["pads"]
    b.nodes("Conv", x, b.const(np.ones((attrs.pop("outputs", 8), 8 // attrs.get("group", 1), 3, 3)), x.dtype),
            shape=(None, 8, 10, 12), kernel_shape=[3, 3], **attrs)  # fmt: skip
    assert found(b, b.added[-1].outputs[0]) == []


def test_weights_have_their_channels_last_and_a_multiple_of_four():
    b = Builder("test")
    x = Operand(FLOAT32, (None, 3, 9, 9))
    weights = np.arange(8 * 3 * 2 * 5, dtype=np.float32).reshape(8, 3, 2, 5)
    output = b.Conv(x, b.const(weights, FLOAT32), strides=[2, 1], dilations=[1, 2], pads=[1, 2, 1, 2])
    (fused,) = found(b, output)
    assert fused.weights.shape == (8, 2, 5, 4)
    np.testing.assert_array_equal(fused.weights[..., :3], weights.transpose(0, 2, 3, 1))
    assert not fused.weights[..., 3].any()
    assert not fused.bias.any()
    assert (fused.strides, fused.pads, fused.dilations) == ((2, 1), (1, 2), (1, 2))
    assert fused.output_shape((7, 9, 9, 4)) == (7, 5, 5, 8)
