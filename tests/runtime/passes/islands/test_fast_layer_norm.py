"""Layer normalization is computed by nodes that are faster together, where its kernel is slow."""

import numpy as np
import pytest
from tests.runtime.passes.rewritten import rewritten

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands import normalization as passes
from tfport.runtime.passes.islands.normalization import fast_layer_norm
from tfport.runtime.passes.pass_list import NodeForms


def normalization(shape, *, offset=True, **attrs):
    rng, b = np.random.default_rng(0), Builder("test")
    x = Operand(FLOAT32, shape, name="x")
    constants = [rng.normal(size=shape[-1]) for _ in range(1 + offset)]
    y = b.LayerNormalization(x, *(b.const(constant, FLOAT32) for constant in constants), **attrs)
    return x, y, b.added, constants


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("shape", [(64, 64), (None, None, 96), (None, 64, 96), (2, 3, 5, 512)])
def test_the_parts_are_a_layer_normalization(monkeypatch, shape, offset):
    monkeypatch.setattr(passes, "IS_SLOW", True)
    x, y, nodes, constants = normalization(shape, offset=offset, axis=-1, epsilon=1e-3)
    assert "LayerNormalization" not in [node.op for node in rewritten(fast_layer_norm, nodes)]
    island = island_model(nodes, [x], [y], forms=NodeForms.FASTEST)
    names = [info.name for info in island.model.graph.input], [o.name for o in island.model.graph.output]
    run = OnnxRuntime(1).compile(island.model.SerializeToString(), island.weights, *names)
    rows = np.random.default_rng(1).normal(3, 2, [size or 8 for size in shape])
    (answer,) = run([rows.astype(np.float32)])
    rows = rows.astype(np.float32).astype(float)
    centered = rows - rows.mean(-1, keepdims=True)
    scaled = centered / np.sqrt(rows.var(-1, keepdims=True) + 1e-3) * constants[0]
    np.testing.assert_allclose(answer, scaled + (constants[1] if offset else 0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("is_slow", "shape", "attrs"),
    [
        (False, (512, 768), {"axis": -1}),
        (True, (1, 768), {"axis": -1}),  # little work
        (True, (None, 768), {"axis": -1}),
        (True, (512, 768), {"axis": 0}),
    ],
)
def test_others_stay(monkeypatch, is_slow, shape, attrs):
    monkeypatch.setattr(passes, "IS_SLOW", is_slow)
    _, _, nodes, _ = normalization(shape, **attrs)
    assert rewritten(fast_layer_norm, nodes) == nodes
