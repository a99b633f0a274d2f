"""Which operators a TensorFlow Lite file does without."""

import pytest
from tests.fix.certify.models import frozen
from tests.runtime.engines.litert.translated import SmallModel, floats

from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.lite.export import export_lite
from tfport.fix.options import FixOptions
from tfport.runtime.engines.litert.translate import lite_model

IMAGE = """
    x = Placeholder() {dtype=float32, shape=(?, 4, 4, 1)}
    w = Const() {dtype=float32, value=float32(2, 2, 1, 1)[1, 2, -3, 4]}
    small = Const() {dtype=float32, value=float32()[0.00392]}
    none = Const() {dtype=float32, value=float32()[0]}
    s = Mul(x, small) {T=float32}
    a = AddV2(s, none) {T=float32}
    y = Conv2D(a, w) {T=float32, strides=[1, 1, 1, 1], padding="SAME"}
"""
WIDER = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    none = Const() {dtype=float32, value=float32(3,)[0, 0, 0]}
    a = AddV2(x, none) {T=float32}
    y = Relu(a) {T=float32}
"""
ROWS = """
    i = Placeholder() {dtype=int32, shape=(?,)}
    table = Const() {dtype=float32, value=float32(3, 1)[1, 2, 3]}
    axis = Const() {dtype=int32, value=int32()[0]}
    y = GatherV2(table, i, axis) {Tparams=float32, Tindices=int32, Taxis=int32}
"""
ENLARGED = """
    x = Placeholder() {dtype=float32, shape=(?, 3, 3, 1)}
    w = Const() {dtype=float32, value=float32(2, 2, 2, 1)[1, 2, -3, 4, 5, -6, 7, 8]}
    b = Const() {dtype=float32, value=float32(2,)[1, -2]}
    zero = Const() {dtype=int32, value=int32(1,)[0]}
    one = Const() {dtype=int32, value=int32(1,)[1]}
    rest = Const() {dtype=int32, value=int32(3,)[6, 6, 2]}
    axis = Const() {dtype=int32, value=int32()[0]}
    sizes = Shape(x) {T=float32, out_type=int32}
    rows = StridedSlice(sizes, zero, one, one) {T=int32, Index=int32}
    enlarged = ConcatV2(rows, rest, axis) {N=2, T=int32, Tidx=int32}
    c = Conv2DBackpropInput(enlarged, w, x) {T=float32, strides=[1, 2, 2, 1], padding="SAME"}
    s = BiasAdd(c, b) {T=float32}
    r = Relu(s) {T=float32}
    again = Shape(r) {T=float32, out_type=int32}
    then = StridedSlice(again, zero, one, one) {T=int32, Index=int32}
    more = Const() {dtype=int32, value=int32(3,)[12, 12, 2]}
    larger = ConcatV2(then, more, axis) {N=2, T=int32, Tidx=int32}
    v = Const() {dtype=float32, value=float32(2, 2, 2, 2)[1, 2, -3, 4, 5, -6, 7, 8, 1, 3, 2, 4, -1, 2, 3, 5]}
    y = Conv2DBackpropInput(larger, v, r) {T=float32, strides=[1, 2, 2, 1], padding="SAME"}
"""
PLAIN = {  # the model, and all operators of the file
    "a scaled image": (IMAGE, ["CONV_2D"]),
    "an image that something else reads scaled": (
        IMAGE + "z = Neg(s) {T=float32}",
        ["CONV_2D", "MUL", "NEG"],
    ),
    "a shifted image": (IMAGE.replace("[0]", "[1]"), ["ADD", "CONV_2D", "MUL"]),
    "an image of nothing": (IMAGE.replace("0.00392", "0"), ["CONV_2D", "MUL"]),
    "zeros that make a row wider": (WIDER, ["ADD"]),
    "rows of a table": (ROWS, ["GATHER"]),
    "an image whose sizes are asked for": (
        ENLARGED,
        [*("CONCATENATION",) * 2, "RELU", *("SHAPE",) * 2, *("SLICE",) * 2, *("TRANSPOSE_CONV",) * 2],
    ),
}


@pytest.mark.parametrize("what", PLAIN)
def test_operators_that_others_include_are_not_written(what):
    text, ops = PLAIN[what]
    (target,) = resolve_targets("ai-edge-litert==2.3.0")
    fixed = export_lite(frozen(text), target, "m.tflite", FixOptions())
    assert fixed.ok, fixed.verification and fixed.verification.statement
    (graph,) = fixed.attempt.model.lite.subgraphs
    assert sorted(node.code.op for node in graph.operators) == ops


def last_state(b, x):
    """The hidden state of an LSTM after the last step."""
    weights = floats(b, 1, 12, 4), floats(b, 1, 12, 3), floats(b, 1, 24)
    return b.nodes("LSTM", x, *weights, outputs=3, hidden_size=3)[1]


def test_a_loop_does_not_carry_outputs_of_steps_that_nothing_reads():
    file, reasons = lite_model({"last": (SmallModel(last_state, (5, 2, 4)).model, [])})
    assert not reasons
    (loop,) = (node for node in file.subgraphs[0].operators if node.code.op == "WHILE")
    condition, body = (file.subgraphs[loop.options[f"{part}_subgraph_index"]] for part in ("cond", "body"))
    counts = map(len, (loop.inputs, loop.outputs, condition.inputs, body.inputs, body.outputs))
    assert set(counts) == {4}  # the counter, the products of the inputs, and the two states
    assert "DYNAMIC_UPDATE_SLICE" not in {node.code.op for node in body.operators}
