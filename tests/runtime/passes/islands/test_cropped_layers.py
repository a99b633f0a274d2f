"""Layers before a crop compute only what it leaves, and the answers are the same for all sizes."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.runtime.passes.rewritten import rewritten

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands import crop_margins
from tfport.runtime.passes.islands import cropped_layers as crops
from tfport.runtime.passes.islands.cropped_layers import cropped_layers
from tfport.runtime.passes.pass_list import NodeForms

END = 2**31 - 1
CHANNELS = 3


class Stack:
    """Layers over an image whose sizes may be unknown."""

    def __init__(self, *sizes):
        self.b, self.rng = Builder("test"), np.random.default_rng(0)
        self.x = Operand(FLOAT32, (None, CHANNELS, *sizes), name="x")

    def weights(self, *shape):
        return self.b.const(self.rng.integers(-2, 3, shape).astype(np.float32), FLOAT32)

    def conv(self, x, width, dilation=1, **attrs):
        space = (x.rank or 0) - 2
        kernel = [width] * space
        pads = attrs.pop("pads", None)
        if pads is None:
            extent = (width - 1) * dilation
            pads = [extent // 2] * space + [extent - extent // 2] * space
        weights = self.weights(CHANNELS, CHANNELS, *kernel)
        return self.b.Conv(x, weights, kernel_shape=kernel, dilations=[dilation] * space, pads=pads, **attrs)

    def crop(self, x, *bounds, first=2):
        axes = range(first, first + len(bounds))
        starts, ends = zip(*bounds, strict=True)
        return self.b.Slice(x, self.b.ints(*starts), self.b.ints(*ends), self.b.ints(*axes))

    def cropped(self, *outputs):
        return rewritten(cropped_layers, self.b.added, outputs)

    def answers(self, nodes, outputs, image):
        island = island_model(nodes, [self.x], outputs, forms=NodeForms.PLAIN)
        names = [i.name for i in island.model.graph.input], [o.name for o in island.model.graph.output]
        run = OnnxRuntime().compile(island.model.SerializeToString(), island.weights, *names)
        return run([image])

    def image(self, *sizes):
        return self.rng.integers(-3, 4, (2, CHANNELS, *sizes)).astype(np.float32)

    def assert_same(self, outputs, *sizes):
        image = self.image(*sizes)
        cropped = self.answers(self.cropped(*outputs), outputs, image)
        for answer, right in zip(cropped, self.answers(self.b.added, outputs, image), strict=True):
            np.testing.assert_array_equal(answer, right)


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Crop whether it pays or not."""
    monkeypatch.setattr(crops, "LEAST_SAVED", 0)
    monkeypatch.setattr(crop_margins, "LEAST_CROP", 1)


def pads_of(nodes):
    return [node.attrs["pads"] for node in nodes if node.op == "Conv"]


def test_each_layer_computes_what_the_next_ones_read():
    stack = Stack(100)
    x = stack.x
    for dilation in (1, 4, 10):
        x = stack.b.Relu(stack.conv(x, 3, dilation))
    y = stack.crop(x, (12, -12))
    nodes = stack.cropped(y)
    # the last layer reads 10 positions beyond the 12 that are cropped, and the one before it 4
    assert pads_of(nodes) == [[1, 1], [2, 2], [0, 0]]
    assert [n.outputs[0].shape[2] for n in nodes if n.op == "Conv"] == [100, 96, 76]
    stack.assert_same([y], 100)


def test_without_an_unknown_size_nothing_is_padded():
    stack = Stack(100)
    y = stack.crop(stack.conv(stack.x, 3), (12, -12))
    assert [node.op for node in stack.cropped(y)] == ["Slice", "Conv", "Slice"]


@pytest.mark.parametrize("length", [0, 1, 2, 7, 8, 9, 10, 11, 12, 30])
def test_sequences_of_which_nothing_is_left(length):
    stack = Stack(None)
    inner = stack.b.Relu(stack.conv(stack.x, 5, 2))
    y = stack.crop(stack.b.Add(stack.conv(inner, 3), stack.x), (5, -4))
    assert "Pad" in [node.op for node in stack.cropped(y)]
    image = stack.image(length)
    (answer,) = stack.answers(stack.cropped(y), [y], image)
    if length > 9:
        np.testing.assert_array_equal(answer, *stack.answers(stack.b.added, [y], image))
    else:
        assert answer.shape == (2, CHANNELS, 0)


def test_what_others_read_is_computed():
    stack = Stack(None)
    inner = stack.b.Relu(stack.conv(stack.x, 3))
    y = stack.crop(stack.conv(inner, 3), (70, -70))
    assert pads_of(stack.cropped(y)) == [[0, 0], [0, 0]]
    assert pads_of(stack.cropped(y, inner)) == [[1, 1], [0, 0]]
    stack.assert_same([y, inner], 150)


def test_crops_that_leave_something_at_other_sizes():
    stack = Stack(None)
    inner = stack.b.Relu(stack.conv(stack.x, 3))
    small, large = stack.crop(inner, (2, -3)), stack.crop(stack.conv(inner, 3), (20, -30))
    for length in (51, 52, 90):
        stack.assert_same([small, large], length)
    image = stack.image(40)
    answers = stack.answers(stack.cropped(small, large), [small, large], image)
    np.testing.assert_array_equal(answers[0], *stack.answers(stack.b.added, [small], image))
    assert answers[1].shape == (2, CHANNELS, 0)


def test_a_size_that_may_be_one_is_not_cropped():
    """Both sizes are unknown, so that one of the inputs may be repeated."""
    stack = Stack(None)
    other = stack.b.ReduceMax(stack.conv(stack.x, 3), stack.b.ints(2), keepdims=1)
    unknown = stack.b.Slice(
        stack.x, stack.b.ints(0), stack.b.reshape(stack.b.Shape(other, start=2), 1), stack.b.ints(2)
    )
    y = stack.crop(stack.b.Add(stack.conv(stack.x, 3), unknown), (2, -2))
    assert stack.cropped(y) == stack.b.added


@pytest.mark.parametrize(
    "bounds",
    [[(5, END)], [(0, -6)], [(5, -6), (1, -7)], [(0, END), (3, -1)], [(4, 9)], [(-30, -5)], [(0, END)]],
    ids=str,
)
@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
def test_images(bounds, known):
    stack = Stack(*([31, 40] if known else [None, None]))
    x = stack.b.Add(stack.conv(stack.conv(stack.x, 3), 4, 2), stack.x)
    normal = [stack.weights(CHANNELS) for _ in range(3)]
    x = stack.b.BatchNormalization(x, *normal, stack.b.Abs(stack.weights(CHANNELS)), epsilon=0.5)
    pooled = stack.b.MaxPool(x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    mean = stack.b.AveragePool(pooled, kernel_shape=[2, 2], pads=[0, 0, 1, 1])
    y = stack.crop(stack.b.transpose(stack.b.Concat(x, mean, axis=1), [0, 2, 3, 1]), *bounds, first=1)
    for sizes in ((31, 40),) if known else ((31, 40), (33, 36)):
        stack.assert_same([y], *sizes)


KINDS = st.sampled_from(["conv", "residual", "relu", "valid", "skip", "pool", "image"])
LAYERS = st.lists(st.tuples(KINDS, st.integers(1, 5), st.integers(1, 4)), min_size=1, max_size=8)


def layer(stack, x, first, kind, width, dilation):
    b = stack.b
    match kind:
        case "conv":
            return stack.conv(x, width, dilation)
        case "residual":
            return b.Add(stack.conv(b.Relu(stack.conv(x, width, dilation)), width), x)
        case "valid":
            return stack.conv(x, width, pads=[0, width - 1])
        case "skip":
            return b.Sub(b.Relu(x), first)
        case "pool":
            return b.MaxPool(x, kernel_shape=[3], pads=[1, 1])
        case "image":
            row = b.unsqueeze(b.transpose(x, [0, 2, 1]), 1)
            return b.transpose(b.squeeze(b.Neg(row), 1), [0, 2, 1])
    return b.Relu(x)


@settings(max_examples=60, deadline=None)
@given(LAYERS, st.integers(0, 30), st.integers(0, 30), st.integers(1, 80), st.booleans())
@example([("residual", 5, 4)] * 3, 8, 30, 1, False)
@example([("residual", 5, 4), ("skip", 1, 1), ("residual", 5, 1)], 3, 0, 4, True)
def test_any_stack(layers, before, after, left, known):
    """The same answers, whether the windows of all layers fit into what is left or not."""
    length = before + after + left
    stack = Stack(length if known else None)
    x = first = stack.conv(stack.x, 3)
    for kind, width, dilation in layers:
        x = layer(stack, x, first, kind, width, dilation)
    y = stack.crop(x, (before, -after or END))
    stack.assert_same([y], length)


@pytest.mark.parametrize(("length", "crop"), [(1000, 300), (None, 300), (1000, 1), (None, 1)])
def test_it_pays_where_much_is_cropped(length, crop, monkeypatch):
    monkeypatch.undo()
    stack = Stack(length)
    x = stack.conv(stack.conv(stack.x, 101), 101)
    y = stack.crop(stack.b.Add(x, stack.x), (crop, -crop))
    assert (stack.cropped(y) == stack.b.added) == (crop == 1)


def test_products_that_are_saved():
    """Of layers like those of a splice site model, about a third."""
    stack = Stack(11_000)
    x = stack.x
    for width, dilation in ((11, 1), (11, 4), (21, 10), (41, 25)):
        for _ in range(4):
            x = stack.b.Add(stack.conv(stack.b.Relu(stack.conv(x, width, dilation)), width, dilation), x)
    y = stack.crop(x, (5000, -5000))

    def products(nodes):
        return sum(
            math.prod(n.outputs[0].shape[2:]) * n.inputs[1].array.shape[2] for n in nodes if n.op == "Conv"
        )

    assert 0.6 < products(stack.cropped(y)) / products(stack.b.added) < 0.7
