"""Sigmoid is computed accurately, where that is not part of a swish, and scores keep TensorFlow's order."""

import numpy as np
import pytest
from tests.runtime.passes.rewritten import rewritten
from tests.runtime.programs import islands_of, session_of

from tfport.formats.proto.onnx_pb2 import ModelProto
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.engines.gpu.device_name import parse_device
from tfport.runtime.engines.gpu.gpu_engine import GpuEngine
from tfport.runtime.engines.gpu.gpu_options import GpuOptions
from tfport.runtime.export import export_signature
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.precision_rewrites import accurate_sigmoid, accurate_sigmoid_on_gpu
from tfport.runtime.select_signature import select_signature

UINT8 = DType.parse("uint8")
SCORES = """
    x = Placeholder() {dtype=float32, shape=(?)}
    score = Sigmoid(x) {T=float32}
    k = Const() {dtype=int32, value=int32()[200]}
    best = TopKV2(score, k) {T=float32, sorted=true}
"""
SWISH = """
    x = Placeholder() {dtype=float32, shape=(?)}
    s = Sigmoid(x) {T=float32}
    y = Mul(s, x) {T=float32}
"""
LOOP = """
    x = Placeholder() {dtype=float32, shape=(?)}
    n = Placeholder() {dtype=int32, shape=()}
    w = StatelessWhile(n, x) {T=[int32, float32], cond=@go, body=@turn, output_shapes=[(), (?)]}
    def go(i: int32, x: float32) -> (r: bool):
      zero = Const() {dtype=int32, value=int32()[0]}
      c = Less(zero, i) {T=int32}
      return r=c
    def turn(i: int32, x: float32) -> (i1: int32, x1: float32):
      unit = Const() {dtype=int32, value=int32()[1]}
      j = Sub(i, unit) {T=int32}
      s = Sigmoid(x) {T=float32}
      return i1=j, x1=s
"""


def ops(island):
    return [node.op_type for node in island.graph.node]


def test_small_scores_keep_their_order():
    logits = np.random.default_rng(0).permutation(np.linspace(-30, -4, 200)).astype(np.float32)
    order = session_of(SCORES).run(["best:1"], {"x:0": logits})[0]
    assert order.tolist() == np.argsort(-logits).tolist()


def test_a_sigmoid_that_only_a_swish_reads_is_left_to_the_engine():
    (island,) = islands_of(SWISH, ["y:0"], ["x:0"])
    assert ops(island) == ["Sigmoid", "Mul"]


def test_a_sigmoid_that_is_quantized_is_left_to_the_engine():
    b, x = Builder("quantized"), Operand(FLOAT32, (3,))
    y = b.QuantizeLinear(b.Sigmoid(x), b.const(1 / 256, FLOAT32), b.const(0, UINT8))
    assert [node.op for node in rewritten(accurate_sigmoid, b.added, [y])] == ["Sigmoid", "QuantizeLinear"]


@pytest.mark.parametrize("fetches", [["s:0"], ["y:0", "s:0"]])
def test_a_sigmoid_that_is_an_output_is_accurate(fetches):
    (island,) = islands_of(SWISH, fetches, ["x:0"])
    assert ops(island)[:4] == ["Neg", "Exp", "Add", "Reciprocal"]


def test_a_sigmoid_in_a_loop_is_accurate():
    answer = session_of(LOOP).run(["w:1"], {"x:0": np.array([-20], np.float32), "n:0": np.int32(1)})[0]
    np.testing.assert_allclose(answer, np.exp(np.float64(-20)), rtol=1e-6)


def test_an_exported_model_keeps_the_sigmoid(tmp_path):
    session = session_of(SWISH)
    written = export_signature(session, select_signature(session.model), str(tmp_path / "m.onnx"))
    assert ops(written.model) == ["Sigmoid", "Mul"]


@pytest.mark.parametrize("gates_stay", [True, False])
def test_a_sigmoid_that_is_only_a_factor_may_stay(gates_stay):
    b, x, y = Builder("gates"), Operand(FLOAT32, (3,)), Operand(FLOAT32, (3,))
    gate, score, both = b.Sigmoid(x), b.Sigmoid(y), b.Sigmoid(b.Neg(x))
    results = [b.Mul(gate, y), b.Identity(score), b.Mul(both, y), b.Abs(both)]
    accurate = accurate_sigmoid_on_gpu if gates_stay else accurate_sigmoid
    kept = [node.outputs[0] for node in rewritten(accurate, b.added, results) if node.op == "Sigmoid"]
    assert kept == ([gate] if gates_stay else [])


def test_scores_of_a_gpu_are_accurate_too():
    x = np.array([-10.857281, 3], np.float32)
    seen = []

    class Recorded(GpuEngine):
        def compile(self, model, *rest):
            seen.append([node.op_type for node in ModelProto.FromString(model).graph.node])
            return super().compile(model, *rest)

    engine = Recorded(parse_device("cpu"), GpuOptions(precision="float32"), threads=1)
    text = "x = Placeholder() {dtype=float32, shape=(?)}\n y = Sigmoid(x) {T=float32}"
    (answer,) = session_of(text, engine=engine).run(["y:0"], {"x:0": x})
    assert seen == [["Neg", "Exp", "Add", "Reciprocal"]]
    np.testing.assert_allclose(answer, 1 / (1 + np.exp(-x.astype(np.float64))), rtol=1e-6)
