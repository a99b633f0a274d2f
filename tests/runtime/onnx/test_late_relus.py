"""Relu after a maximum."""

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.late_relus import with_late_relus
from tfport.runtime.operand import Operand

X = Operand(FLOAT32, (None, 2, 8, 8), name="x")


def pooled(op="Relu"):
    b = Builder("test")
    before = getattr(b, op)(X)
    return b.made, before, b.MaxPool(before, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])


def test_the_relu_of_a_maximum():
    nodes, _, output = pooled()
    pool, relu = with_late_relus(nodes, [output])
    assert (pool.op, pool.inputs, pool.attrs) == ("MaxPool", (X,), nodes[1].attrs)
    assert (relu.op, relu.inputs, relu.outputs) == ("Relu", pool.outputs, (output,))


def test_others_stay_as_they_are():
    nodes, before, output = pooled()
    assert with_late_relus(nodes, [output, before]) == nodes
    nodes, _, output = pooled("Neg")
    assert with_late_relus(nodes, [output]) == nodes


def test_the_numbers_are_the_same():
    x = np.random.default_rng(0).normal(size=(4, 9)).astype(np.float32)
    np.testing.assert_array_equal(np.maximum(x, 0).max(1), np.maximum(x.max(1), 0))
