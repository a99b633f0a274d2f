"""PRelu is computed by nodes that ONNX Runtime has fast kernels for."""

import numpy as np
import pytest

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.fast_activations import with_fast_activations
from tfport.runtime.onnx.model import onnx_model
from tfport.runtime.operand import Operand


def _prelu(slope):
    b, x = Builder("test"), Operand(FLOAT32, (2, 3), name="x")
    return x, b.PRelu(x, b.const(slope, FLOAT32)), b


@pytest.mark.parametrize(
    ("slope", "ops"),
    [
        ([0.5, 1, 0.1], ["Mul", "Max"]),
        ([0.5, 0, 0.1], ["Max", "Min", "Mul", "Add"]),
        ([-1, 2, 0.1], ["Max", "Min", "Mul", "Add"]),
        ([np.inf, 0, 0], ["PRelu"]),
        ([np.nan, 0, 0], ["PRelu"]),
    ],
)
def test_prelu_is_computed_by_fast_nodes(slope, ops):
    _, _, b = _prelu(slope)
    assert [node.op for node in with_fast_activations(b.made)] == ops


def test_an_exported_model_keeps_prelu():
    x, y, b = _prelu([0.5, 1, 0.1])
    exported = onnx_model(b.made, [x], [y], exported=True)
    assert [node.op_type for node in exported.model.graph.node] == ["PRelu"]
