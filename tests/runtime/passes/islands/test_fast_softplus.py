"""Softplus is computed by nodes that ONNX Runtime has fast kernels for."""

import numpy as np
import pytest
from tests.runtime.passes.rewritten import rewritten

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands.fast_activations import fast_softplus


@pytest.mark.parametrize(
    ("shape", "replaced"), [((2, 600), True), ((None, 3), True), (None, True), ((2, 500), False), ((), False)]
)
def test_softplus_of_many_elements_is_computed_by_fast_nodes(shape, replaced):
    b, x = Builder("test"), Operand(FLOAT32, shape, name="x")
    b.Softplus(x)
    assert (rewritten(fast_softplus, b.added) != b.added) is replaced


def test_softplus_is_accurate_everywhere():
    b, x = Builder("test"), Operand(FLOAT32, (None,), name="x")
    y = b.Softplus(x)
    island = island_model(b.added, [x], [y])
    names = (
        [info.name for info in island.model.graph.input],
        [info.name for info in island.model.graph.output],
    )
    run = OnnxRuntime(1).compile(island.model.SerializeToString(), island.weights, *names)
    values = np.array([*np.linspace(-80, 80, 2001), 1e30, np.inf, -np.inf, np.nan], np.float32)
    with np.errstate(invalid="ignore"):
        expected = np.logaddexp(0, values.astype(np.float64))
    np.testing.assert_allclose(run([values])[0], expected.astype(np.float32), rtol=1e-6)
