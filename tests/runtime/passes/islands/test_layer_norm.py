"""Layer normalization as its definition says becomes one node."""

import numpy as np
import pytest
from tests.runtime.programs import islands_of, session_of

from tfport.runtime.passes.islands import normalization

DEFINED = """
    x = Placeholder() {{dtype=float32, shape=(?, 4)}}
    axis = Const() {{dtype=int32, value=int32(1)[{axis}]}}
    small = Const() {{dtype=float32, value=float32()[0.001]}}
    scale = Const() {{dtype=float32, value=float32({size})[{scale}]}}
    offset = Const() {{dtype=float32, value=float32(4)[0, 1, 0, -1]}}
    mean = Mean(x, axis) {{T=float32, Tidx=int32, keep_dims=true}}
    d = Sub(x, {subtracted}) {{T=float32}}
    dd = Mul(d, d) {{T=float32}}
    v = Mean(dd, axis) {{T=float32, Tidx=int32, keep_dims=true}}
    e = AddV2(v, small) {{T=float32}}
    i = Rsqrt(e) {{T=float32}}
    n = Mul(d, i) {{T=float32}}
    s = Mul(n, scale) {{T=float32}}
    y = AddV2(s, offset) {{T=float32}}
"""
USUAL = {"axis": 1, "size": "4", "scale": "1, 2, 3, 4", "subtracted": "mean"}
X = np.float32([[1, 2, 3, 5], [-1, 0, 0, 7]])


@pytest.fixture(autouse=True)
def _as_it_is(monkeypatch):
    """As on a processor where the kernel is fast."""
    monkeypatch.setattr(normalization, "IS_SLOW", False)


def ops(**changes):
    (island,) = islands_of(DEFINED.format(**{**USUAL, **changes}), ["y:0"], ["x:0"])
    return {node.op_type for node in island.graph.node}


def test_the_definition_is_one_node():
    assert ops() == {"LayerNormalization"}
    d = X - X.mean(-1, keepdims=True)
    normal = d / np.sqrt((d * d).mean(-1, keepdims=True) + 0.001)
    expected = normal * np.float32([1, 2, 3, 4]) + np.float32([0, 1, 0, -1])
    answer = session_of(DEFINED.format(**USUAL)).run("y:0", {"x:0": X})
    np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("changes", [{"axis": 0}, {"size": "1", "scale": "2"}, {"subtracted": "small"}])
def test_something_else_is_not(changes):
    assert "LayerNormalization" not in ops(**changes)
