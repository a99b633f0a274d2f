import pytest

from tfport.graph.dtypes import FLOAT32, INT64, DType
from tfport.runtime.engines.gpu.gpu_engine import is_refused
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode, Program, Step


@pytest.mark.parametrize(
    ("op", "dtype", "refused"),
    [
        ("NonMaxSuppression", "float32", True),
        ("ReverseSequence", "float32", False),
        ("Softmax", "float64", True),
        ("Softmax", "float32", False),
        ("ReduceMax", "float64", True),
        ("ReduceMin", "int64", True),
        ("ReduceMax", "int32", False),
        ("Conv", "float64", False),
        ("QLinearConv", "uint8", True),
        ("QLinearMatMul", "int8", True),
    ],
)
def test_nodes_that_stay_on_the_cpu(op, dtype, refused):
    x = Operand(DType.parse(dtype), (2, 2))
    assert is_refused(OnnxNode(op, (x,), (x,), {})) is refused


@pytest.mark.parametrize(
    ("reduction", "refused"), [("none", False), ("add", False), ("mul", True), ("max", True), ("min", True)]
)
@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
def test_reductions_that_would_not_end_with_nan_stay_on_the_cpu(op, reduction, refused):
    x = Operand(FLOAT32, (2, 2))
    assert is_refused(OnnxNode(op, (x, x, x), (x,), {"reduction": reduction})) is refused


@pytest.mark.parametrize(("index", "refused"), [(None, True), (1, False), (9, True)])
def test_a_loop_with_indices_that_nothing_checks_stays_on_the_cpu(index, refused):
    b = Builder("test")
    x, place = Operand(FLOAT32, (2, 2)), Operand(INT64, ()) if index is None else b.const(index, INT64)
    row = b.Gather(x, place)
    inner = Program([x], [Step("body", "Body", (x,), (row,), lowered=b.added)], [row])
    branch = OnnxNode("If", (x,), (x,), {"then_branch": inner})
    assert is_refused(branch) is refused
    outer = Program([x], [Step("outer", "Body", (x,), (x,), lowered=[branch])], [x])
    assert is_refused(OnnxNode("Loop", (x,), (x,), {"body": outer})) is refused


def test_a_loop_with_a_node_that_stays_on_the_cpu_stays_there():
    b = Builder("test")
    boxes, scores = Operand(FLOAT32, (1, 2, 4)), Operand(FLOAT32, (1, 1, 2))
    kept = b.NonMaxSuppression(boxes, scores)
    inner = Program([boxes], [Step("body", "Body", (boxes, scores), (kept,), lowered=b.added)], [kept])
    assert is_refused(OnnxNode("Loop", (boxes,), (kept,), {"body": inner}))
