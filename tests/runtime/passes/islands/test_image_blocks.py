"""Images stay in blocks of channels between convolutions, as ONNX Runtime computes them on x86-64."""

import numpy as np
import onnxruntime as ort
import pytest
from tests.runtime.passes.rewritten import rewritten

from tfport.formats.proto import onnx_pb2
from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands import image_blocks as blocks

SIZE = (5, 3)


@pytest.fixture(autouse=True)
def has_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "HAS_BLOCKS", True)


class _Network:
    """A convolution, a node, and a convolution again."""

    def __init__(self, channels=32, *, size=SIZE, add=None, last=True):
        self.b = Builder("test")
        self.x = Operand(FLOAT32, (1, channels, *size), name="x")
        self.image = self.conv(self.x)
        self.between = self.image if add is None else add(self.b, self.image, self.x)
        self.between.shape = self.x.shape
        self.y = self.conv(self.between) if last else self.between

    def conv(self, x):
        """One that changes nothing, so that the answers are exact."""
        channels = self.x.shape[1]
        image = self.b.Conv(x, self.b.const(np.eye(channels, dtype=np.float32)[..., None, None], FLOAT32))
        image.shape = self.x.shape
        return image

    def ops(self):
        return [node.op for node in rewritten(blocks.image_blocks, self.b.added, [self.y])]

    def answer(self, values, monkeypatch, has_blocks):
        monkeypatch.setattr(blocks, "HAS_BLOCKS", has_blocks)
        island = island_model(self.b.added, [self.x], [self.y])
        (x,) = (info.name for info in island.model.graph.input)
        (y,) = (info.name for info in island.model.graph.output)
        run = OnnxRuntime(1).compile(island.model.SerializeToString(), island.weights, [x], [y])
        return run([values])[0]


def _by_channel(b, channels=32, shape=(1, -1, 1, 1)):
    values = np.linspace(-2, 3, channels, dtype=np.float32).round(1)
    values[:4] = 0, 1, -1, 0.25
    return b.const(values.reshape(shape), FLOAT32)


def _number(b, value):
    return b.const(value, FLOAT32)


def _hard_swish(b, x, _):
    inside = b.Clip(b.Add(x, _number(b, 3)), _number(b, 0), _number(b, 6))
    return b.Mul(b.Mul(inside, _number(b, 1 / 6)), x)


def _relu6(b, x):
    return b.Clip(x, _number(b, 0), _number(b, 6))


def _with_residual(b, x, before):
    return _relu6(b, b.Add(x, b.MaxPool(before, kernel_shape=[1, 1])))


def _prelu_by_abs(b, x, _):
    return b.Add(b.Relu(x), b.Mul(_by_channel(b), b.Sub(x, b.Abs(x))))


CONV = ["Conv"]
CHANGED = {
    "factors": (lambda b, x, _: b.Mul(x, _by_channel(b)), CONV),
    "factors, of three axes": (lambda b, x, _: b.Mul(_by_channel(b, shape=(-1, 1, 1)), x), CONV),
    "one factor": (lambda b, x, _: b.Mul(_number(b, 0.3), x), CONV),
    "offsets": (lambda b, x, _: b.Add(x, _by_channel(b)), CONV),
    "less": (lambda b, x, _: b.Sub(x, _by_channel(b)), CONV),
    "from a number": (lambda b, x, _: b.Sub(_number(b, 2), x), CONV),
    "negative": (lambda b, x, _: b.Neg(x), CONV),
    "hard swish": (_hard_swish, ["Conv", "Clip", "Conv", "Mul"]),
    "Relu6 after a sum": (_with_residual, ["MaxPool", "Add", "Conv", "Clip"]),
    "PRelu by Abs": (_prelu_by_abs, ["Relu", "Relu", "Conv", "Add", "Conv", "Conv", "Add"]),
    "PRelu": (
        lambda b, x, _: b.PRelu(x, _by_channel(b, shape=(-1, 1, 1))),
        ["Conv", "Relu", "Conv", "Relu", "Conv", "Add"],
    ),
}
KEPT = {
    "Relu6 after a convolution": (lambda b, x, _: _relu6(b, x), ["Clip"]),
    "a factor of each pixel": (lambda b, x, _: b.Mul(x, b.const(np.ones(SIZE), FLOAT32)), ["Mul"]),
    "a factor that is no number": (lambda b, x, _: b.Mul(x, _number(b, np.inf)), ["Mul"]),
    "a product with itself": (lambda b, x, _: b.Mul(x, x), ["Mul"]),
    "a function": (lambda b, x, _: b.Exp(b.Neg(x)), ["Neg", "Exp"]),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_constant_of_each_channel_becomes_a_convolution(name):
    add, ops = CHANGED[name]
    assert _Network(add=add).ops() == ["Conv", *ops, "Conv"]


@pytest.mark.parametrize("name", KEPT)
def test_other_nodes_stay(name):
    add, ops = KEPT[name]
    assert _Network(add=add).ops() == ["Conv", *ops, "Conv"]


@pytest.mark.parametrize("channels", [8, 18])
def test_images_of_few_or_uneven_channels_stay(channels):
    network = _Network(channels, add=lambda b, x, _: b.Mul(x, _number(b, 0.3)))
    assert network.ops() == ["Conv", "Mul", "Conv"]


def test_prelu_of_part_of_a_block_stays():
    network = _Network(24, add=lambda b, x, _: b.PRelu(x, _by_channel(b, 24, (-1, 1, 1))))
    assert network.ops() == ["Conv", "PRelu", "Conv"]


def test_nothing_changes_where_nothing_reads_blocks():
    assert _Network(add=lambda b, x, _: b.Mul(x, _number(b, 0.3)), last=False).ops() == ["Conv", "Mul"]


def test_convolutions_stay_whatever_they_read():
    """Of a constant image, and with a bias that is computed."""
    b, ones = Builder("test"), np.ones((1, 32, *SIZE))
    x = Operand(FLOAT32, (32,), name="x")
    kernel = b.const(np.eye(32, dtype=np.float32)[..., None, None], FLOAT32)
    image = b.Conv(b.Conv(b.const(ones, FLOAT32), kernel), kernel, x)
    y = b.Conv(image, kernel)
    assert [node.op for node in rewritten(blocks.image_blocks, b.added, [y])] == ["Conv"] * 3


def test_nothing_changes_without_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "HAS_BLOCKS", False)
    assert _Network(add=CHANGED["hard swish"][0]).ops() == ["Conv", "Add", "Clip", "Mul", "Mul", "Conv"]


def _padded(b, x, before):
    """The image of the convolution, and the one before with other zeros: it leaves the blocks."""
    zeros = b.Pad(before, b.ints(0, 0, 1, 0, 0, 0, -1, 0))
    zeros.shape = before.shape
    total = b.Add(x, zeros)
    total.shape = before.shape
    return b.Relu(total)


@pytest.mark.parametrize(("size", "ops"), [(SIZE, ["Pad", "Conv", "Add"]), ((None, None), ["Pad", "Add"])])
def test_an_image_of_known_size_comes_back_where_it_is_added(size, ops):
    assert _Network(size=size, add=_padded).ops() == ["Conv", *ops, "Relu", "Conv"]


VALUES = np.random.default_rng(0).normal(size=(1, 32, *SIZE)).astype(np.float32) * 8


@pytest.mark.parametrize("name", [*CHANGED, *KEPT])
def test_the_answers_are_the_same(name, monkeypatch):
    """Bit by bit: each sum has one term besides zero."""
    network = _Network(add={**CHANGED, **KEPT}[name][0])
    expected, answer = (network.answer(VALUES, monkeypatch, has) for has in (False, True))
    np.testing.assert_array_equal(answer, expected)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("name", CHANGED)
def test_what_is_no_number_passes(name, value, monkeypatch):
    """One channel at a time, without the convolution before the image, which would mix them."""
    add, _ = CHANGED[name]
    network = _Network(add=add, last=False)
    network.y = network.b.MaxPool(network.between, kernel_shape=[1, 1])
    network.y.shape = network.x.shape
    values = np.full((1, 32, *SIZE), value, np.float32)
    image = network.b.added[0]
    ones = network.b.const(np.ones((32, 1, 1, 1)), FLOAT32)
    network.b.added[0] = type(image)("Conv", (image.inputs[0], ones), image.outputs, {"group": 32})
    expected, answer = (network.answer(values, monkeypatch, has) for has in (False, True))
    np.testing.assert_array_equal(answer, expected)


@pytest.mark.skipif(not blocks.HAS_BLOCKS, reason="ONNX Runtime has no blocks here")
@pytest.mark.parametrize("name", ["hard swish", "Relu6 after a sum", "PRelu", "offsets"])
def test_onnx_runtime_rearranges_no_image_between(name, tmp_path):
    network = _Network(add=CHANGED[name][0])
    island = island_model(network.b.added, [network.x], [network.y])
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    values = [ort.OrtValue.ortvalue_from_numpy(array) for array in island.weights.values()]
    options.add_external_initializers(list(island.weights), values)
    ort.InferenceSession(island.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    optimized = onnx_pb2.ModelProto.FromString((tmp_path / "optimized.onnx").read_bytes())
    assert [node.op_type for node in optimized.graph.node].count("ReorderOutput") == 1
