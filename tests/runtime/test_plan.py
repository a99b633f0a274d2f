"""Which steps run in the engine, and which on the host."""

import numpy as np
import pytest
from tests.runtime.programs import islands_of, session_of

SIZES = """
    words = Placeholder() {dtype=string, shape=(?, ?)}
    zero = Const() {dtype=int32, value=int32(1)[0]}
    one = Const() {dtype=int32, value=int32(1)[1]}
    nought = Const() {dtype=int32, value=int32()[0]}
    shape = Shape(words) {T=string, out_type=int32}
    rows = StridedSlice(shape, zero, one, one)
        {T=int32, Index=int32, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=1}
    count = Prod(shape, zero) {T=int32, Tidx=int32, keep_dims=false}
    columns = FloorDiv(count, rows) {T=int32}
    both = Pack(columns, rows) {N=2, T=int32, axis=0}
    more = ConcatV2(both, shape, nought) {N=2, T=int32, Tidx=int32}
    most = Max(more, zero) {T=int32, Tidx=int32, keep_dims=false}
    wide = Cast(more) {SrcT=int32, DstT=int64, Truncate=false}
    turned = Reshape(words, both) {T=string, Tshape=int32}
""".replace("\n        {", " {")
FLOATS = """
    scaled = Cast(more) {SrcT=int32, DstT=float32, Truncate=false}
    a = Exp(scaled) {T=float32}
    b = Sqrt(a) {T=float32}
    c = Tanh(b) {T=float32}
"""


def test_sizes_between_host_steps_are_computed_on_the_host():
    fetches = ["turned:0", "most:0", "wide:0"]
    assert islands_of(SIZES, fetches, ["words:0"]) == []
    words = np.array([[b"a", b"b", b"c"]], object)
    turned, most, wide = session_of(SIZES).run(fetches, {"words:0": words})
    assert turned.tolist() == [[b"a"], [b"b"], [b"c"]]
    assert most == 3
    assert wide.tolist() == [3, 1, 1, 3]
    assert (most.dtype, wide.dtype) == (np.int32, np.int64)


def test_an_island_that_computes_more_than_sizes_runs_in_the_engine():
    (island,) = islands_of(SIZES + FLOATS, ["c:0"], ["words:0"])
    assert {"Exp", "Sqrt", "Tanh"} <= {node.op_type for node in island.graph.node}


@pytest.mark.parametrize("fetches", [["p:0", "q:0"], ["q:0", "p:0"], ["q:0", "q:0"], ["p:0", "x:0"]])
@pytest.mark.parametrize("feeds", [["x:0", "y:0"], ["y:0", "x:0"]])
def test_a_plan_of_one_island_takes_inputs_and_gives_results_in_the_order_of_the_call(fetches, feeds):
    session = session_of("""
        x = Placeholder() {dtype=float32, shape=(2, 2)}
        y = Placeholder() {dtype=float32, shape=(2, 2)}
        p = MatMul(x, y) {T=float32, transpose_a=false, transpose_b=false}
        q = Sub(p, x) {T=float32}
    """)
    x, y = np.float32([[1, 2], [3, 4]]), np.float32([[0, 1], [1, 0]])
    expected = {"x:0": x, "p:0": x @ y, "q:0": x @ y - x}
    given = {"x:0": x, "y:0": y}
    for answer, name in zip(session.run(fetches, {n: given[n] for n in feeds}), fetches, strict=True):
        np.testing.assert_array_equal(answer, expected[name])
