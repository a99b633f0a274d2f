"""Attention without what it adds to queries, keys and values: the same answers, on the CPU."""

import numpy as np
import pytest
from tests.runtime.passes.rewritten import rewritten

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.model import CONTRIB
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands.attention import ATTENTION
from tfport.runtime.passes.islands.attention_bias import moved_attention_bias, positions_of
from tfport.runtime.passes.pass_list import NodeForms
from tfport.runtime.program import OnnxNode

HEADS, SIZE, LENGTH = 2, 4, 5
WIDTH = HEADS * SIZE
X = Operand(FLOAT32, (None, LENGTH, WIDTH), name="x")
MASK = Operand(FLOAT32, (1, 1, LENGTH, LENGTH), name="mask")


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def attention(*, mask=False, reshaped=True, added=True, length=LENGTH):
    b = Builder("test")
    parts = [b.MatMul(X, b.const(numbers(WIDTH, WIDTH, seed=i), FLOAT32)) for i in range(3)]
    offsets, joined = (
        b.const(numbers(3 * WIDTH, seed=3), FLOAT32),
        Operand(FLOAT32, (None, length, WIDTH), name="joined"),
    )
    inputs = (*parts, offsets, None, MASK) if mask else (*parts, offsets)
    b.added.append(OnnxNode(ATTENTION, inputs, (joined,), {"num_heads": HEADS, "scale": 0.5}, CONTRIB))
    result = b.reshape(b.reshape(joined, 0, 0, HEADS, SIZE), 0, 0, WIDTH) if reshaped else joined
    result = b.MatMul(result, b.const(numbers(WIDTH, 3, seed=4), FLOAT32))
    return b.added, b.Add(result, b.const(numbers(3, seed=5), FLOAT32)) if added else b.Tanh(result)


def answers(nodes, output, inputs, arrays):
    island = island_model(nodes, inputs, [output], forms=NodeForms.PLAIN)
    names = [info.name for info in island.model.graph.input]
    outputs = [info.name for info in island.model.graph.output]
    return OnnxRuntime(1).compile(island.model.SerializeToString(), island.weights, names, outputs)(arrays)[0]


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("reshaped", [False, True])
def test_the_answers_are_the_same(mask, reshaped):
    nodes, output = attention(mask=mask, reshaped=reshaped)
    moved = rewritten(moved_attention_bias, nodes, [output])
    (node,) = (node for node in moved if node.op == ATTENTION)
    assert len(node.inputs) == (6 if mask else 3)
    assert node.inputs[3:4] in ((), (None,))
    inputs, arrays = [X], [numbers(2, LENGTH, WIDTH, seed=9)]
    if mask:
        inputs, arrays = [X, MASK], [*arrays, 3 * numbers(1, 1, LENGTH, LENGTH, seed=8)]
    expected = answers(nodes, output, inputs, arrays)
    np.testing.assert_allclose(answers(moved, output, inputs, arrays), expected, rtol=1e-5, atol=1e-6)


def test_without_a_sum_after_it_an_attention_stays_as_it_is():
    nodes, output = attention(added=False)
    assert rewritten(moved_attention_bias, nodes, [output]) == nodes


def test_positions():
    nodes, _ = attention()
    assert positions_of(nodes) == LENGTH
    assert positions_of([]) == 0
    nodes, _ = attention(length=None)
    assert positions_of(nodes) == 0
