"""A loop that writes a tensor row by row, as TensorFlow Lite stores lists, answers like one with a list."""

import numpy as np
import pytest
from tests.recorded_models import graph
from tests.runtime.cases import recorded
from tests.runtime.passes.programs.test_recurrent_layers import GRU, H0, LOOPS, H, X, const, over, weights

import tfport
from tfport.graph.build import graph_to_def

INT = "{T=int32}"
TYPES = "[int32, float32, float32, float32]"
ARGS = "i: int32, rows: float32, h: float32, x: float32"
ROWS = np.full((5, 2, H), 7.0)
SUMS = GRU.replace("Sub(real", "AddV2(real")


def writing(cell=GRU, rows=ROWS, steps=5, *, at="i", after="j"):
    """A loop over `x` that writes its output to the row `at` of a tensor; the next row is `after`."""
    lines = "".join(f"      {line.strip()}\n" for line in cell.strip().splitlines())
    body = "".join(const(name, array) for name, array in weights(3, biases=2).items())
    return f"""
    x = Placeholder() {{dtype=float32, shape=(5, 2, 3)}}
    h0 = Placeholder() {{dtype=float32, shape=(2, {H})}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
{const("rows", rows, indent=4)}    w = StatelessWhile(zero, rows, h0, x) {{T={TYPES}, cond=@go, body=@turn}}
    y = Identity(w:1) {{T=float32}}
    def go({ARGS}) -> (c: bool):
      n = Const() {{dtype=int32, value=int32()[{steps}]}}
      none = Const() {{dtype=int32, value=int32(0)[]}}
      less = Less(i, n) {INT}
      c1 = Reshape(less, none) {{T=bool, Tshape=int32}}
      return c=c1
    def turn({ARGS}) -> (a: int32, b: float32, c: float32, d: float32):
      zero = Const() {{dtype=int32, value=int32()[0]}}
      one = Const() {{dtype=int32, value=int32()[1]}}
      four = Const() {{dtype=int32, value=int32()[4]}}
      five = Const() {{dtype=int32, value=int32()[5]}}
      axis = Const() {{dtype=int32, value=int32()[1]}}
      real = Const() {{dtype=float32, value=float32()[1.0]}}
      single = Const() {{dtype=int32, value=int32(1)[1]}}
      zeros = Const() {{dtype=int32, value=int32(2)[0, 0]}}
      begin = Const() {{dtype=int32, value=int32(3)[0, 0, 0]}}
      minus = Const() {{dtype=int32, value=int32(2)[-1, -1]}}
      whole = Const() {{dtype=int32, value=int32(3)[-1, -1, -1]}}
      j = AddV2(i, one) {INT}
      back = Sub(four, i) {INT}
      behind = Sub(five, i) {INT}
      row = GatherV2(x, i, zero) {{Tparams=float32, Tindices=int32, Taxis=int32}}
{body}{lines}
      at = Reshape({at}, single) {{T=int32, Tshape=int32}}
      size = ConcatV2(at, minus, zero) {{T=int32, N=2, Tidx=int32}}
      first = Slice(rows, begin, size) {{T=float32, Index=int32}}
      next = Reshape({after}, single) {{T=int32, Tshape=int32}}
      start = ConcatV2(next, zeros, zero) {{T=int32, N=2, Tidx=int32}}
      last = Slice(rows, start, whole) {{T=float32, Index=int32}}
      item = ExpandDims(new_h, zero) {{T=float32, Tdim=int32}}
      set = ConcatV2(first, item, last, zero) {{T=float32, N=3, Tidx=int32}}
      return a=j, b=set, c=new_h, d=x
"""


STATES, SUM_STATES = (recorded("recurrent", over(name, 5))[0] for name in ("gru", "adds what it keeps"))
LOOP_CASES = {  # the loop, what it becomes, and what it answers
    "in order": (writing(), "GRU", STATES),
    "the only row": (writing(rows=ROWS[:1], at="zero", after="one"), "GRU", STATES[-1:]),
    "no known layer": (writing(SUMS), "Loop", SUM_STATES),
    "the only row, no known layer": (
        writing(SUMS, rows=ROWS[:1], at="zero", after="one"), "Loop", SUM_STATES[-1:]
    ),
    # in these the tensor is carried from one iteration to the next
    "too many rows": (writing(steps=3), "Loop", np.concatenate([STATES[:3], ROWS[3:]])),
    "from the end": (writing(at="back", after="behind"), "Loop", STATES[::-1]),
    "one place": (writing(at="zero", after="one"), "Loop", np.concatenate([STATES[-1:], ROWS[1:]])),
}  # fmt: skip


def test_the_answers_are_those_of_a_list():
    assert LOOPS["adds what it keeps"][1] == "Loop"
    assert STATES.shape == SUM_STATES.shape == ROWS.shape


@pytest.mark.parametrize("engine", ["onnxruntime", "none"])
@pytest.mark.parametrize("name", LOOP_CASES)
def test_a_loop_that_writes_rows(name, engine):
    text, kind, expected = LOOP_CASES[name]
    session = tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()), engine=engine)
    (answer,) = session.run(["y:0"], {"x:0": X, "h0:0": H0})
    np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6)
    if engine != "none":
        steps = session.program(["y:0"], ["x:0", "h0:0"]).steps
        assert {node.op for step in steps for node in step.lowered or ()} & {"GRU", "Loop"} == {kind}


@pytest.mark.parametrize(("name", "is_carried"), [("no known layer", False), ("too many rows", True)])
def test_rows_are_carried_only_where_some_are_not_written(name, is_carried):
    session = tfport.Session(tfport.load(graph_to_def(graph(LOOP_CASES[name][0])).SerializeToString()))
    (loop,) = [step for step in session.program(["y:0"], ["x:0", "h0:0"]).steps if step.programs]
    assert (
        "ConcatV2" in {step.op for step in loop.programs[0].steps if step.name.endswith("set")}
    ) == is_carried
