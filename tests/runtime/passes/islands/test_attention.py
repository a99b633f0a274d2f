"""Attention as one node: where it is found, what it is given, and that it computes the same."""

import numpy as np
import onnxruntime as ort
import pytest
from tests.runtime.passes.rewritten import rewritten

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.engines.session_settings import share, to_share
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands.attention import ATTENTION, fused_attention

BATCH, QUERIES, KEYS, HEADS, SIZE = 2, 5, 7, 3, 4
WIDTH = HEADS * SIZE
RANDOM = np.random.default_rng(0)


def constant(b, *shape):
    return b.const(RANDOM.uniform(-1, 1, shape).astype(np.float32), FLOAT32)


def shaped(operand, *shape):
    operand.shape = shape
    return operand


class Network:
    """Attention of `q` to `kv`, as Keras writes it, with some parts different."""

    def __init__(
        self,
        *,
        offsets=True,
        scale="Mul",
        mask=None,
        batch=None,
        heads_first=(0, 2, 1, 3),
        axis=-1,
        joined=True,
    ):
        self.b = b = Builder("test")
        self.batch = batch
        self.q = Operand(FLOAT32, (batch, QUERIES, WIDTH), name="q")
        self.kv = Operand(FLOAT32, (batch, KEYS, WIDTH), name="kv")
        self.mask = None if mask is None else Operand(FLOAT32, mask, name="mask")
        q = self.transposed(self.heads(self.q, QUERIES, offsets, joined), heads_first)
        k = self.transposed(self.heads(self.kv, KEYS, offsets, joined), (0, 2, 3, 1))
        v = self.transposed(self.heads(self.kv, KEYS, offsets, joined), (0, 2, 1, 3))
        scores = shaped(b.MatMul(q, k), batch, HEADS, QUERIES, KEYS)
        if scale:
            factor = b.const(0.5 if scale == "Mul" else 2.0, FLOAT32)
            scores = shaped(getattr(b, scale)(scores, factor), batch, HEADS, QUERIES, KEYS)
        if self.mask is not None:
            scores = b.Add(scores, self.mask)
        attended = shaped(b.MatMul(b.Softmax(scores, axis=axis), v), batch, HEADS, QUERIES, SIZE)
        self.output = shaped(b.Transpose(attended, perm=[0, 2, 1, 3]), batch, QUERIES, HEADS, SIZE)

    def heads(self, x, count, offsets, joined):
        b = self.b
        product = shaped(b.MatMul(x, constant(b, WIDTH, WIDTH)), self.batch, count, WIDTH)
        sizes = b.ints(0, 0, HEADS, SIZE) if joined else b.ints(-1, count, HEADS, SIZE)
        parts = shaped(b.Reshape(product, sizes), self.batch, count, HEADS, SIZE)
        if not joined:
            parts = shaped(b.Tanh(parts), self.batch, count, HEADS, SIZE)
        return shaped(b.Add(parts, constant(b, HEADS, SIZE)), *parts.shape) if offsets else parts

    def transposed(self, parts, perm):
        return self.b.Transpose(parts, perm=list(perm))

    def fused(self, has_kernel=lambda node: True):
        return rewritten(fused_attention, self.b.added, [self.output], has_kernel=has_kernel)

    def answer(self, nodes):
        inputs = [o for o in (self.q, self.kv, self.mask) if o is not None]
        island = island_model(nodes, inputs, [self.output])
        options = ort.SessionOptions()
        shared = to_share(island.weights)
        share(options, shared)
        session = ort.InferenceSession(island.model.SerializeToString(), options, ["CPUExecutionProvider"])
        random = np.random.default_rng(1)
        feeds = {
            o.name: random.uniform(-1, 1, [BATCH if n is None else n for n in o.shape]).astype(np.float32)
            for o in inputs
        }
        return session.run(None, feeds)[0]


@pytest.mark.parametrize(
    ("parts", "inputs"),
    [
        ({}, 4),
        ({"scale": "Div"}, 4),
        ({"scale": ""}, 4),
        ({"offsets": False}, 3),
        ({"joined": False}, 3),
        ({"axis": 3}, 4),
        ({"batch": BATCH, "mask": (1, 1, QUERIES, KEYS)}, 6),
        ({"mask": (None, HEADS, QUERIES, KEYS)}, 6),
        ({"mask": (None, 1, QUERIES, KEYS), "offsets": False}, 6),
    ],
)
def test_attention_is_one_node_with_the_same_answers(parts, inputs):
    network = Network(**parts)
    nodes = network.fused()
    (attention,) = [node for node in nodes if node.op == ATTENTION]
    assert len(attention.inputs) == inputs
    assert not {"Softmax", "Transpose"} & {node.op for node in nodes}
    np.testing.assert_allclose(network.answer(nodes), network.answer(network.b.added), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "parts",
    [
        {"mask": (None, 1, 1, KEYS)},  # the kernel broadcasts no positions
        {"mask": (QUERIES, KEYS)},
        {"heads_first": (0, 1, 2, 3)},
        {"axis": 2},
    ],
)
def test_other_networks_stay_as_they_are(parts):
    network = Network(**parts)
    assert network.fused() == network.b.added


def test_without_a_kernel_nothing_changes():
    network = Network()
    assert network.fused(lambda node: False) == network.b.added


def test_what_else_reads_the_scores_still_gets_them():
    network = Network()
    (softmax,) = [node for node in network.b.added if node.op == "Softmax"]
    nodes = rewritten(fused_attention, network.b.added, [network.output, softmax.outputs[0]])
    assert {ATTENTION, "Softmax"} <= {node.op for node in nodes}
