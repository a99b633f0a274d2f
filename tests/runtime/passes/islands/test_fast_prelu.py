"""PRelu is computed by nodes that ONNX Runtime has fast kernels for."""

import numpy as np
import pytest
from tests.runtime.passes.rewritten import rewritten

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands.fast_activations import fast_prelu
from tfport.runtime.passes.pass_list import NodeForms


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
    assert [node.op for node in rewritten(fast_prelu, b.added)] == ops


def _answer(b, x, y, values):
    island = island_model(b.added, [x], [y])
    names = (
        [info.name for info in island.model.graph.input],
        [info.name for info in island.model.graph.output],
    )
    run = OnnxRuntime(1).compile(island.model.SerializeToString(), island.weights, *names)
    return run([values])[0]


@pytest.mark.parametrize("slope", [[0.5, -1.5, 0.1], [0.5, -1.5, 2], [0.5, 0, -1]])
def test_the_fast_nodes_answer_as_prelu(slope):
    x, y, b = _prelu(slope)
    values = np.array([[-2, -3, -4], [2, 3, 4]], np.float32)
    slopes = np.array(slope, np.float32)
    np.testing.assert_allclose(
        _answer(b, x, y, values), np.where(values > 0, values, slopes * values), rtol=1e-6
    )


def test_an_exported_model_keeps_prelu():
    x, y, b = _prelu([0.5, 1, 0.1])
    exported = island_model(b.added, [x], [y], exported=True)
    assert [node.op_type for node in exported.model.graph.node] == ["PRelu"]


@pytest.mark.parametrize(("fuses", "expected"), [(True, ["PRelu"]), (False, ["Mul", "Max"])])
def test_openvino_gets_prelu_where_it_computes_it_rightly(fuses, expected, monkeypatch):
    monkeypatch.setattr("tfport.runtime.passes.islands.fast_activations.FUSES_PRELU", fuses)
    x, y, b = _prelu([0.5, 1, 0.1])
    whole = island_model(b.added, [x], [y], forms=NodeForms.OPENVINO)
    assert [node.op_type for node in whole.model.graph.node] == expected
