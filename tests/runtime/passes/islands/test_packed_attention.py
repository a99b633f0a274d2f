"""One product for queries, keys and values; ONNX Runtime's CPU provider cannot run the result."""

import numpy as np
import pytest
from tests.runtime.passes.rewritten import rewritten

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.attention import ATTENTION, packed_attention
from tfport.runtime.program import OnnxNode

HEADS, SIZE, ROWS = 3, 4, 5
WIDTH = HEADS * SIZE
X, OTHER = (Operand(FLOAT32, (None, 7, ROWS), name=name) for name in ("x", "other"))
WEIGHTS = [np.random.default_rng(i).uniform(-1, 1, (ROWS, WIDTH)).astype(np.float32) for i in range(3)]


def attention(*, sources=(X, X, X), weights=WEIGHTS, heads=HEADS):
    b = Builder("test")
    parts = [b.MatMul(x, b.const(w, FLOAT32)) for x, w in zip(sources, weights, strict=True)]
    offsets, output = b.const(np.ones(3 * WIDTH), FLOAT32), Operand(FLOAT32, (None, 7, WIDTH))
    node = OnnxNode(ATTENTION, (*parts, offsets), (output,), {"num_heads": heads}, "com.microsoft")
    return [*b.added, node], offsets, output


def test_the_parts_of_a_head_are_together():
    nodes, offsets, output = attention()
    product, reshape, fused = rewritten(packed_attention, nodes, [output])
    assert [n.op for n in (product, reshape, fused)] == ["MatMul", "Reshape", ATTENTION]
    assert reshape.inputs[1].array.tolist() == [0, 0, HEADS, 3, SIZE]
    assert fused.inputs == (reshape.outputs[0], None, None, offsets)
    x = np.random.default_rng(9).uniform(-1, 1, (2, 7, ROWS)).astype(np.float32)
    packed = (x @ product.inputs[1].array).reshape(2, 7, HEADS, 3, SIZE)
    for part, weights in enumerate(WEIGHTS):
        np.testing.assert_allclose(packed[:, :, :, part], (x @ weights).reshape(2, 7, HEADS, SIZE), rtol=1e-5)


@pytest.mark.parametrize(
    "parts",
    [
        {"sources": (X, OTHER, OTHER)},  # attention to something else
        {"weights": [*WEIGHTS[:2], np.ones((ROWS, 2 * WIDTH), np.float32)]},
        {"weights": [np.ones((ROWS, 2048), np.float32)] * 3, "heads": 8},
    ],
)
def test_others_stay_as_they_are(parts):
    nodes, _, output = attention(**parts)
    assert rewritten(packed_attention, nodes, [output]) == nodes
