"""Islands before and after `layout` and `fuse_convolutions`: the same outputs with fewer nodes."""

import collections
from functools import partial

import numpy as np
import pytest
from tests.runtime.cases import numbers
from tests.runtime.passes.rewritten import rewritten

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model, simplified
from tfport.runtime.passes.islands.convolutions import fuse_convolutions
from tfport.runtime.passes.islands.layout import fewer_transposes

TO_FIRST, TO_LAST = (0, 3, 1, 2), (0, 2, 3, 1)
SHAPE = (2, 5, 6, 3)


def answers(nodes, inputs, outputs, arrays):
    island = island_model(nodes, inputs, outputs)
    names = [i.name for i in island.model.graph.input], [o.name for o in island.model.graph.output]
    return OnnxRuntime(1).compile(island.model.SerializeToString(), island.weights, *names)(arrays)


def both(say, *shapes, improve=simplified, rtol=1e-5):
    """Improve the nodes that `say(b, *inputs)` makes; the outputs stay the same."""
    b = Builder("test")
    inputs = [Operand(FLOAT32, (None, *shape[1:])) for shape in shapes]
    outputs = say(b, *inputs)
    outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
    arrays = [numbers(*shape, seed=i) for i, shape in enumerate(shapes)]
    better = improve(b.added, outputs)
    before, after = (answers(nodes, inputs, outputs, arrays) for nodes in (b.added, better))
    for expected, same in zip(before, after, strict=True):
        np.testing.assert_allclose(same, expected, rtol=rtol, atol=1e-5)
    return collections.Counter(node.op for node in better)


def carried(then, first=TO_FIRST, back=TO_LAST, shape=SHAPE):
    """The number of transposes left of a transpose, `then`, and the inverse transpose."""
    made = both(
        lambda b, x: b.transpose(then(b, b.transpose(x, first)), back),
        shape,
        improve=partial(rewritten, fewer_transposes),
    )
    return made["Transpose"]


@pytest.mark.parametrize(
    "then",
    [
        lambda b, x: b.Relu(x),
        lambda b, x: b.Clip(x, b.const(0, FLOAT32), b.const(6, FLOAT32)),
        lambda b, x: b.Add(x, x),
        lambda b, x: b.Mul(b.Sigmoid(x), x),
        lambda b, x: b.Add(x, b.const(2, FLOAT32)),
        lambda b, x: b.Mul(b.const(numbers(3, 1, 1), FLOAT32), x),
        lambda b, x: b.Sub(x, b.const(numbers(1, 3, 5, 1), FLOAT32)),
        lambda b, x: b.Sub(x, b.const(numbers(6), FLOAT32)),
        lambda b, x: b.Where(b.Greater(x, b.const(0, FLOAT32)), x, b.const(numbers(5, 6), FLOAT32)),
        lambda b, x: b.Concat(x, b.Neg(x), axis=1),
        lambda b, x: b.Concat(x, b.const(numbers(2, 3, 5, 6), FLOAT32), axis=-1),
        lambda b, x: b.Add(*b.nodes("Split", x, b.ints(3, 3), outputs=2, axis=3)),
        lambda b, x: b.Pad(x, b.ints(0, 1, 2, 3, 4, 5, 6, 7)),
        lambda b, x: b.Pad(x, b.ints(0, 0, 1, 2, 0, 0, 0, 3), b.const(7, FLOAT32)),
        lambda b, x: b.ReduceMean(x, b.ints(2, -1), keepdims=1),
        lambda b, x: b.ReduceMax(x, b.ints(1), keepdims=1),
        lambda b, x: b.Slice(x, b.ints(1, 2), b.ints(3, 9), b.ints(3, -2)),
        lambda b, x: b.Slice(x, b.ints(0, 1), b.ints(2, 2)),
        lambda b, x: b.Slice(x, b.ints(4), b.ints(0), b.ints(2), b.ints(-2)),
        lambda b, x: b.Tile(x, b.ints(1, 2, 3, 1)),
        lambda b, x: b.Resize(x, None, b.const([1, 1, 2, 3], FLOAT32), mode="nearest"),
    ],
)
def test_transposes_cancel_through(then):
    assert carried(then) == 0


def test_linear_interpolation_stays_between_the_last_two_axes():
    def enlarged(b, x):
        scales = b.const([1, 1, 2, 2], FLOAT32)
        return b.Resize(b.transpose(x, TO_FIRST), None, scales, mode="linear")

    made = both(lambda b, x: b.transpose(enlarged(b, x), TO_LAST), (2, 4, 5, 3))
    assert made == {"Transpose": 2, "Resize": 1}
    made = both(lambda b, x: b.Relu(enlarged(b, b.transpose(x, TO_LAST))), (2, 3, 4, 5))
    assert made == {"Resize": 1, "Relu": 1}


def test_reductions_renumber_the_remaining_axes():
    made = both(lambda b, x: b.ReduceMean(b.transpose(x, TO_LAST), b.ints(1, 2), keepdims=0), (2, 3, 4, 5))
    assert made["Transpose"] == 0
    made = both(lambda b, x: b.ReduceMax(b.transpose(x, (3, 1, 0, 2)), b.ints(1), keepdims=0), (2, 3, 4, 5))
    assert made["Transpose"] == 1


def test_sizes_are_read_before_the_transpose():
    made = both(lambda b, x: b.Shape(b.transpose(x, TO_LAST), start=1, end=3), (2, 3, 4, 5))
    assert made == {"Shape": 1, "Gather": 1}


def test_a_transpose_of_axes_of_size_one_does_not_affect_a_reshape():
    def say(b, x):
        return b.Reshape(b.transpose(b.GlobalAveragePool(x), TO_LAST), b.ints(-1, 3))

    assert both(say, (2, 3, 4, 5))["Transpose"] == 0
    assert (
        both(lambda b, x: b.Reshape(b.transpose(x, TO_LAST), b.ints(-1, 3)), (2, 3, 4, 5))["Transpose"] == 1
    )


def test_an_output_keeps_its_axis_order_while_other_nodes_use_another():
    def say(b, x):
        y = b.transpose(x, TO_FIRST)
        z = b.Relu(y)
        return y, z, b.transpose(z, TO_LAST), b.transpose(y, TO_LAST)

    made = both(say, SHAPE)
    assert made["Transpose"] == 2


def test_operands_in_different_axis_orders_are_transposed():
    made = both(lambda b, x, y: b.Add(b.transpose(x, TO_FIRST), y), SHAPE, (2, 3, 5, 6))
    assert made["Transpose"] == 1
    made = both(
        lambda b, x, y: b.Add(b.transpose(x, TO_FIRST), b.transpose(y, (0, 1, 3, 2))), SHAPE, (2, 3, 6, 5)
    )
    assert made["Transpose"] == 2


def conv(b, x, out=4, k=3, pads=(1, 1, 1, 1)):
    """A convolution as TensorFlow writes it: channels last, between two transposes."""
    weights = b.const(numbers(out, x.shape[-1], k, k, seed=out), FLOAT32)
    inner = b.Conv(b.transpose(x, TO_FIRST), weights, pads=list(pads), kernel_shape=[k, k])
    return b.transpose(inner, TO_LAST)


def scaled(b, x):
    channels = x.shape[-1]
    factor, offset = (b.const(numbers(channels, seed=s), FLOAT32) for s in (8, 9))
    return b.Add(b.Mul(x, factor), offset)


def test_a_block_of_a_network_becomes_convolutions_only():
    def say(b, x):
        x = b.Relu(scaled(b, conv(b, x)))
        y = b.Relu(
            scaled(
                b,
                b.Add(
                    conv(b, b.Pad(x, b.ints(0, 1, 1, 0, 0, 1, 1, 0)), pads=(0,) * 4),
                    b.const(numbers(4), FLOAT32),
                ),
            )
        )
        y = b.Relu(b.Add(x, y))
        return b.ReduceMean(y, b.ints(1, 2), keepdims=0)

    made = both(say, SHAPE)
    assert made == {"Transpose": 1, "Conv": 2, "Relu": 3, "Add": 1, "GlobalAveragePool": 1, "Squeeze": 1}


def test_biases_are_fused_into_convolutions_of_sequences():
    def step(b, x):
        y = b.Squeeze(conv(b, b.Unsqueeze(x, b.ints(1)), pads=(1, 1, 1, 1)), b.ints(1))
        return b.Relu(scaled(b, y))

    made = both(lambda b, x: step(b, step(b, x)), (2, 9, 3))
    assert made == {"Unsqueeze": 1, "Transpose": 2, "Conv": 2, "Squeeze": 1, "Relu": 2}


@pytest.mark.parametrize("axes", [(0,), (1,), (3,), (0, 4), (1, 2), (-1,)])
@pytest.mark.parametrize("perm", [(0, 2, 1), (2, 0, 1), (1, 0, 2)])
def test_new_axes_keep_their_positions(perm, axes):
    rank = 3 + len(axes)
    back = tuple(range(rank))[::-1]
    made = both(
        lambda b, x: b.transpose(b.Unsqueeze(b.transpose(x, perm), b.ints(*axes)), back),
        (2, 3, 4),
        improve=partial(rewritten, fewer_transposes),
    )
    assert made["Transpose"] <= 1


def test_a_factor_and_an_offset_become_one_normalization():
    made = both(lambda b, x: conv(b, b.Relu(scaled(b, b.Relu(conv(b, x))))), SHAPE)
    assert made == {"Transpose": 2, "Conv": 2, "Relu": 2, "BatchNormalization": 1}


def test_a_convolution_with_other_readers_is_not_fused():
    def say(b, x):
        y = conv(b, x)
        return b.Add(b.Mul(y, b.const(numbers(4), FLOAT32)), y)

    assert both(say, SHAPE)["Mul"] == 1


def test_a_constant_that_differs_in_space_is_not_fused():
    made = both(lambda b, x: b.Mul(conv(b, x), b.const(numbers(5, 6, 1), FLOAT32)), SHAPE)
    assert made["Mul"] == 1


@pytest.mark.parametrize("op", ["Mul", "Div", "Add", "Sub"])
def test_a_node_after_a_convolution_is_fused(op):
    constant = numbers(4, low=0.5)
    made = both(lambda b, x: b.nodes(op, conv(b, x), b.const(constant, FLOAT32))[0], SHAPE)
    assert made[op] == 0
    turned = both(lambda b, x: b.nodes(op, b.const(constant, FLOAT32), conv(b, x))[0], SHAPE)
    assert turned[op] == (op in ("Div", "Sub"))


@pytest.mark.parametrize(("group", "left"), [(1, 0), (3, 1)])
def test_a_node_after_a_transposed_convolution_is_fused(group, left):
    def say(b, x):
        weights = b.const(numbers(3, 4 // group or 1, 2, 2), FLOAT32)
        y = b.ConvTranspose(x, weights, strides=[2, 2], group=group, kernel_shape=[2, 2])
        channels = (4 // group or 1) * group
        return b.Add(
            b.Mul(y, b.const(numbers(channels, 1, 1), FLOAT32)), b.const(numbers(1, channels, 1, 1), FLOAT32)
        )

    made = both(say, (2, 3, 4, 5))
    assert made["Mul"] + made["BatchNormalization"] == left


def test_zeros_before_a_convolution_become_its_padding():
    made = both(lambda b, x: conv(b, b.Pad(x, b.ints(0, 1, 2, 0, 0, 0, 1, 0))), SHAPE)
    assert made["Pad"] == 0
    made = both(lambda b, x: conv(b, b.Pad(x, b.ints(0, 1, 2, 0, 0, 0, 1, 0), b.const(1, FLOAT32))), SHAPE)
    assert made["Pad"] == 1
    made = both(lambda b, x: conv(b, b.Pad(x, b.ints(0, 1, 2, 1, 0, 0, 1, 0))), SHAPE)
    assert made["Pad"] == 1


@pytest.mark.parametrize("first", ["Relu", "Neg"])
def test_zeros_before_max_pooling_become_its_padding_if_nothing_is_negative(first):
    def say(b, x):
        y = b.Pad(b.nodes(first, conv(b, x))[0], b.ints(0, 1, 1, 0, 0, 1, 1, 0))
        return b.transpose(b.MaxPool(b.transpose(y, TO_FIRST), kernel_shape=[3, 3], strides=[2, 2]), TO_LAST)

    assert both(say, SHAPE)["Pad"] == (first == "Neg")


def test_captures_of_branches_keep_their_axis_order():
    """A subgraph reads an operand by its name, so the name must exist."""
    from tfport.runtime.program import OnnxNode, Program, Step

    b = Builder("test")
    x, flag = Operand(FLOAT32, SHAPE), Operand(INT64, ())
    y = b.Relu(b.transpose(x, TO_FIRST))
    inner = Builder("inner")
    z = inner.Neg(y)
    body = Program([], [Step("z", "Neg", (y,), (z,), inner.added)], [z])
    chosen = b.Equal(flag, b.const(1, INT64))
    out = Operand(FLOAT32)
    b.added.append(OnnxNode("If", (chosen,), (out,), {"then_branch": body, "else_branch": body}))
    array = numbers(*SHAPE)
    for improve in (partial(rewritten, fewer_transposes), partial(rewritten, fuse_convolutions), simplified):
        arrays = answers(improve(b.added, [out]), [x, flag], [out], [array, np.array(0)])
        np.testing.assert_array_equal(arrays[0], -np.maximum(array, 0).transpose(TO_FIRST))
