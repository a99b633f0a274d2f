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


def _after_convolution(channels, slope_shape, *, skip=False):
    b, x = Builder("test"), Operand(FLOAT32, (1, channels, 5, 3), name="x")
    image = b.Conv(x, b.const(np.eye(channels, dtype=np.float32)[..., None, None], FLOAT32))
    image.shape = x.shape
    if skip:
        image = b.Add(x, image)
        image.shape = x.shape
    slope = np.linspace(-2, 3, channels, dtype=np.float32).round(1)
    slope[:4] = 0, 1, -1, 0.25
    slopes = np.broadcast_to(slope.reshape(channels, 1, 1), slope_shape)
    return x, b.PRelu(image, b.const(slopes, FLOAT32)), b, slopes


BY_CONVOLUTIONS = ["Conv", "Relu", "Conv", "Relu", "Conv", "Add"]


@pytest.mark.parametrize(
    ("channels", "slope_shape", "has_blocks", "convolutions"),
    [
        (32, (32, 1, 1), True, True),
        (32, (1, 32, 1, 1), True, True),
        (32, (32, 5, 3), True, False),
        (24, (24, 1, 1), True, False),
        (32, (32, 1, 1), False, False),
    ],
)
@pytest.mark.parametrize("skip", [False, True])
def test_prelu_of_whole_blocks_of_channels_is_computed_by_convolutions(
    channels, slope_shape, has_blocks, convolutions, skip, monkeypatch
):
    monkeypatch.setattr("tfport.runtime.passes.islands.fast_activations.HAS_BLOCKS", has_blocks)
    _, _, b, _ = _after_convolution(channels, slope_shape, skip=skip)
    ops = [node.op for node in rewritten(fast_prelu, b.added)][len(b.added) - 1 :]
    assert ops == (BY_CONVOLUTIONS if convolutions else ["Max", "Min", "Mul", "Add"])


def test_prelu_of_an_input_is_not_computed_by_convolutions():
    b, x = Builder("test"), Operand(FLOAT32, (1, 32, 5, 3), name="x")
    b.PRelu(x, b.const(np.full((32, 1, 1), 0.5), FLOAT32))
    assert [node.op for node in rewritten(fast_prelu, b.added)] == ["Mul", "Max"]


def test_the_convolutions_answer_as_prelu(monkeypatch):
    """Bit by bit: only one of the two parts is not zero."""
    monkeypatch.setattr("tfport.runtime.passes.islands.fast_activations.HAS_BLOCKS", True)
    x, y, b, slopes = _after_convolution(32, (32, 1, 1))
    values = np.random.default_rng(0).normal(size=(1, 32, 5, 3)).astype(np.float32)
    np.testing.assert_array_equal(_answer(b, x, y, values), np.where(values > 0, values, slopes * values))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_the_convolutions_pass_on_what_is_no_number(value, monkeypatch):
    monkeypatch.setattr("tfport.runtime.passes.islands.fast_activations.HAS_BLOCKS", True)
    b, x = Builder("test"), Operand(FLOAT32, (1, 16, 1, 1), name="x")
    weights = np.zeros((16, 1, 1, 1), np.float32)
    weights[:] = 1
    image = b.Conv(x, b.const(weights, FLOAT32), group=16)
    image.shape = x.shape
    slopes = np.linspace(-1, 2, 16, dtype=np.float32).reshape(16, 1, 1)
    slopes[0] = 0
    y = b.PRelu(image, b.const(slopes, FLOAT32))
    values = np.full((1, 16, 1, 1), value, np.float32)
    with np.errstate(invalid="ignore"):
        expected = np.where(values > 0, values, slopes * values)
    np.testing.assert_array_equal(_answer(b, x, y, values), expected)


@pytest.mark.parametrize(("fuses", "expected"), [(True, ["PRelu"]), (False, ["Mul", "Max"])])
def test_openvino_gets_prelu_where_it_computes_it_rightly(fuses, expected, monkeypatch):
    monkeypatch.setattr("tfport.runtime.passes.islands.fast_activations.FUSES_PRELU", fuses)
    x, y, b = _prelu([0.5, 1, 0.1])
    whole = island_model(b.added, [x], [y], forms=NodeForms.OPENVINO)
    assert [node.op_type for node in whole.model.graph.node] == expected
