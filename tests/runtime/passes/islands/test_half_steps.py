"""Steps in float16 are computed in float32 and rounded where TensorFlow rounds."""

import numpy as np
import pytest
from tests.runtime.programs import islands_of, session_of

from tfport.runtime.program import ONNX_TYPES

X = "x = Placeholder() {dtype=float16, shape=(?, 4)}\n"
LAYERS = f"""
    {X}
    w = Const() {{dtype=float16, value=float16(4, 2)[1, 2, 3, 4, 5, 6, 7, 8]}}
    offset = Const() {{dtype=float16, value=float16(2)[0.5, -1]}}
    product = MatMul(x, w) {{T=float16}}
    sum = BiasAdd(product, offset) {{T=float16}}
    y = Relu6(sum) {{T=float16}}
"""
THIRD = f"""
    {X}
    third = Const() {{dtype=float16, value=float16()[0.3333]}}
    part = Mul(x, third) {{T=float16}}
"""
CONSTANTS = """
    limit = Const() {dtype=float16, value=float16()[1.333]}
    three = Const() {dtype=float16, value=float16()[3]}
    axis = Const() {dtype=int32, value=int32()[1]}
    product = Mul(part, three) {T=float16}
"""
JUMPS = {
    "Equal": "y = Equal(part, limit) {T=float16}",
    "Less": "y = Less(part, limit) {T=float16}",
    "Floor": "y = Floor(product) {T=float16}",
    "ArgMax": "y = ArgMax(part, axis) {T=float16, Tidx=int32, output_type=int64}",
    "Cast": "y = Cast(product) {SrcT=float16, DstT=int32}",
}
BRANCH = f"""
    {THIRD}
    p = Placeholder() {{dtype=bool, shape=()}}
    y = StatelessIf(p, part) {{Tcond=bool, TYPES, then_branch=@minus, else_branch=@same}}
    def minus(x: float16) -> (y: float16):
      n = Neg(x) {{T=float16}}
      return y=n
    def same(x: float16) -> (y: float16):
      return y=x
"""
BRANCH = BRANCH.replace("TYPES", "Tin=[float16], Tout=[float16]")
ROUNDED = """
    x = Placeholder() {dtype=float32, shape=(?)}
    small = Cast(x) {SrcT=float32, DstT=float16}
    twice = AddV2(small, small) {T=float16}
    y = Cast(twice) {SrcT=float16, DstT=float32}
"""


def halves(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-5, 5, shape).astype(np.float16)


def ops(text, fetches, feeds):
    (island,) = islands_of(text, fetches, feeds)
    return [node.op_type for node in island.graph.node]


def test_a_region_is_cast_at_its_borders_only():
    (island,) = islands_of(LAYERS, ["y:0"], ["x:0"])
    assert [node.op_type for node in island.graph.node] == ["Cast", "MatMul", "Add", "Clip", "Cast"]
    assert {tensor.data_type for tensor in island.graph.initializer} == {ONNX_TYPES["float32"]}


def test_a_result_is_rounded_like_the_results_after_each_op():
    x = halves(50, 4)
    engine, host = (
        session_of(LAYERS, engine=engine).run(["y:0"], {"x:0": x})[0] for engine in ("onnxruntime", "none")
    )
    assert engine.dtype == np.float16
    np.testing.assert_allclose(engine.astype(float), host.astype(float), rtol=2**-10, atol=2**-10)


def test_an_operand_inside_a_region_can_be_an_output():
    x = halves(50, 4)
    product, y = session_of(LAYERS).run(["product:0", "y:0"], {"x:0": x})
    assert product.dtype == y.dtype == np.float16
    assert product.tolist() == session_of(LAYERS).run(["product:0"], {"x:0": x})[0].tolist()


@pytest.mark.parametrize("op", JUMPS)
def test_a_node_whose_result_jumps_sees_rounded_numbers(op):
    x = np.repeat(np.arange(-12, 13, dtype=np.float16), 4).reshape(-1, 4)
    x = x + np.array([0, 2**-9, -(2**-9), 0], np.float16)
    text = THIRD + CONSTANTS + JUMPS[op]
    engine, host = (
        session_of(text, engine=engine).run(["y:0"], {"x:0": x})[0] for engine in ("onnxruntime", "none")
    )
    assert engine.tolist() == host.tolist()


@pytest.mark.parametrize("chosen", [True, False])
def test_a_branch_reads_an_operand_of_a_region(chosen):
    x = halves(3, 4)
    feeds = {"x:0": x, "p:0": np.bool_(chosen)}
    engine, host = (
        session_of(BRANCH, engine=engine).run(["y:0"], feeds)[0] for engine in ("onnxruntime", "none")
    )
    assert engine.tolist() == host.tolist()


def test_a_cast_of_the_model_rounds():
    x = np.array([1.0001, 2.0002, 70000, 1e-9], np.float32)
    with np.errstate(over="ignore"):
        expected = (x.astype(np.float16) * 2).astype(np.float32)
    answer = session_of(ROUNDED).run(["y:0"], {"x:0": x})[0]
    np.testing.assert_array_equal(answer, expected)
    assert ops(ROUNDED, ["y:0"], ["x:0"]) == ["Cast", "Cast", "Add", "Cast", "Cast"]
