"""PRelu and Softplus are computed by nodes that ONNX Runtime has fast kernels for."""

import numpy as np
import pytest

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
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
        ([0.5, -1.5, 0.1], ["Mul", "Max"]),
        ([0.5, 0, 0.1], ["Max", "Min", "Mul", "Add"]),
        ([-1, 2, 0.1], ["Max", "Min", "Mul", "Add"]),
        ([np.inf, 0, 0], ["PRelu"]),
        ([np.nan, 0, 0], ["PRelu"]),
    ],
)
def test_prelu_is_computed_by_fast_nodes(slope, ops):
    _, _, b = _prelu(slope)
    assert [node.op for node in with_fast_activations(b.made)] == ops


@pytest.mark.parametrize("slope", [[0.5, -1.5, 0.1], [0.5, -1.5, 2], [0.5, 0, -1]])
def test_the_fast_nodes_answer_as_prelu(slope):
    x, y, b = _prelu(slope)
    island = onnx_model(b.made, [x], [y])
    names = (
        [info.name for info in island.model.graph.input],
        [info.name for info in island.model.graph.output],
    )
    run = OnnxRuntime(1).compile(island.model.SerializeToString(), island.weights, *names)
    values = np.array([[-2, -3, -4], [2, 3, 4]], np.float32)
    slopes = np.array(slope, np.float32)
    np.testing.assert_allclose(run([values])[0], np.where(values > 0, values, slopes * values), rtol=1e-6)


def test_an_exported_model_keeps_prelu():
    x, y, b = _prelu([0.5, 1, 0.1])
    exported = onnx_model(b.made, [x], [y], exported=True)
    assert [node.op_type for node in exported.model.graph.node] == ["PRelu"]


@pytest.mark.parametrize(
    ("shape", "replaced"), [((2, 600), True), ((None, 3), True), (None, True), ((2, 500), False), ((), False)]
)
def test_softplus_of_many_elements_is_computed_by_fast_nodes(shape, replaced):
    b, x = Builder("test"), Operand(FLOAT32, shape, name="x")
    b.Softplus(x)
    assert (list(with_fast_activations(b.made)) != b.made) is replaced


def test_softplus_is_accurate_everywhere():
    b, x = Builder("test"), Operand(FLOAT32, (None,), name="x")
    y = b.Softplus(x)
    island = onnx_model(b.made, [x], [y])
    names = (
        [info.name for info in island.model.graph.input],
        [info.name for info in island.model.graph.output],
    )
    run = OnnxRuntime(1).compile(island.model.SerializeToString(), island.weights, *names)
    values = np.array([*np.linspace(-80, 80, 2001), 1e30, np.inf, -np.inf, np.nan], np.float32)
    with np.errstate(invalid="ignore"):
        expected = np.logaddexp(0, values.astype(np.float64))
    np.testing.assert_allclose(run([values])[0], expected.astype(np.float32), rtol=1e-6)
