"""Sequences with long windows and few channels are computed in blocks of positions, with the same outputs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.passes.rewritten import rewritten

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands import fast_convolutions
from tfport.runtime.passes.islands.fast_convolutions import long_windows
from tfport.runtime.passes.pass_list import NodeForms


def convolution(weights, length, *, biased=False, **attrs):
    rng, b = np.random.default_rng(0), Builder("test")
    x = Operand(FLOAT32, (None, 1, *weights[2:-1], length), name="x")
    constants = [rng.normal(size=weights), rng.normal(size=weights[:1])][: 1 + biased]
    y = b.Conv(x, *(b.const(constant, FLOAT32) for constant in constants), **attrs)
    return x, y, b.added


def answers(x, y, nodes, sequence, forms):
    island = island_model(nodes, [x], [y], forms=forms)
    names = [info.name for info in island.model.graph.input], [o.name for o in island.model.graph.output]
    run = OnnxRuntime(1).compile(island.model.SerializeToString(), island.weights, *names)
    return run([sequence])[0]


def assert_same_answers(x, y, nodes, sequence):
    plain, fast = (answers(x, y, nodes, sequence, forms) for forms in (NodeForms.PLAIN, NodeForms.FASTEST))
    assert fast.shape == plain.shape
    np.testing.assert_allclose(fast, plain, rtol=1e-5, atol=1e-4)


REPLACED = [  # weights, length, attributes
    ((1, 1, 1, 256), 5000, {"strides": [1, 2]}),
    ((1, 1, 256), 5001, {"strides": [2]}),
    ((1, 1, 1, 256), 5003, {"strides": [1, 2], "pads": [0, 127, 0, 128], "dilations": [1, 1]}),
    ((4, 1, 64), 3000, {"strides": [4]}),
    ((2, 1, 16), 9000, {"pads": [15, 0]}),
]


@pytest.mark.parametrize(("weights", "length", "attrs"), REPLACED)
@pytest.mark.parametrize("biased", [True, False])
def test_blocks_of_positions_give_the_same_outputs(weights, length, attrs, biased):
    x, y, nodes = convolution(weights, length, biased=biased, **attrs)
    assert [node.op for node in rewritten(long_windows, nodes)][-1] == "If"
    sequence = np.random.default_rng(1).normal(size=(3, *x.shape[1:])).astype(np.float32)
    assert_same_answers(x, y, nodes, sequence)


@given(
    outputs=st.integers(1, 4),
    step=st.integers(1, 4),
    longer=st.integers(0, 40),
    length=st.integers(1, 300),
    before=st.integers(0, 70),
    after=st.integers(0, 70),
)
@settings(deadline=None, max_examples=60)
def test_any_size_gives_the_same_outputs(outputs, step, longer, length, before, after):
    size = (fast_convolutions.AT_ONCE - 1) * step + longer
    length += size
    x, y, nodes = convolution((outputs, 1, size), length, strides=[step], pads=[before, after])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_convolutions, "LEAST_PRODUCTS", 0)
        assert [node.op for node in rewritten(long_windows, nodes)][-1] == "If"
        sequence = np.random.default_rng(length).normal(size=(2, 1, length)).astype(np.float32)
        assert_same_answers(x, y, nodes, sequence)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_only_windows_with_a_number_that_is_not_finite_are_not_finite(value):
    x, y, nodes = convolution((1, 1, 256), 5000, strides=[2])
    sequence = np.random.default_rng(1).normal(size=(1, 1, 5000)).astype(np.float32)
    sequence[0, 0, 3001] = value
    plain, fast = (answers(x, y, nodes, sequence, forms) for forms in (NodeForms.PLAIN, NodeForms.FASTEST))
    assert 0 < np.isfinite(plain).sum() < plain.size
    np.testing.assert_array_equal(np.isfinite(fast), np.isfinite(plain))


KEPT = [
    ((1, 1, 256), None, {"strides": [2]}),  # the length is not known
    ((1, 1, 256), 5000, {"strides": [64]}),  # more products than twice as many
    ((5, 1, 256), 5000, {}),
    ((1, 1, 64), 1000, {}),  # little work
    ((1, 1, 64), 5000, {"dilations": [2]}),
    ((1, 1, 3, 64), 5000, {}),
    ((1, 1, 1, 64), 5000, {"pads": [1, 0, 1, 0]}),
]


@pytest.mark.parametrize(("weights", "length", "attrs"), KEPT)
def test_other_convolutions_are_kept(weights, length, attrs):
    _, _, nodes = convolution(weights, length, **attrs)
    assert rewritten(long_windows, nodes) == nodes
