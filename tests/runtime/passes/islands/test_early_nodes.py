"""What a loop need not compute in each iteration is computed before it; the answers are those of the host."""

from collections import Counter

import numpy as np
import pytest
from tests.runtime.programs import WatchedEngine, session_of

from tfport.errors import Error
from tfport.runtime.bounds.run_scope import RunLimits
from tfport.runtime.engines.make_engine import make_engine
from tfport.runtime.engines.no_engine import NoEngine

KERNEL = ", ".join(str((n % 7 - 3) / 8) for n in range(24))
LOOP = """
    n = Placeholder() {{dtype=int32, shape=()}}
    rows = Placeholder() {{dtype=float32, shape=(?, ?, 5)}}
    other = Placeholder() {{dtype=float32, shape=(?, ?, 5)}}
    state = Placeholder() {{dtype=float32, shape=(?, 3)}}
    rate = Placeholder() {{dtype=float32, shape=()}}
    lengths = Placeholder() {{dtype=int32, shape=(?)}}
    zero = Const() {{dtype=int32, value=int32()[0]}}
    size = Const() {{dtype=int32, value=int32(2)[-1, 5]}}
    xs = TensorListFromTensor(rows, size) {{element_dtype=float32, shape_type=int32}}
    os = TensorListFromTensor(other, size) {{element_dtype=float32, shape_type=int32}}
    w = While(zero, n, xs, os, state, rate, lengths) {{cond=@go, body=@turn, T=[{types}]}}
    y = Neg(w:4) {{T=float32}}
    def go({args}) -> (c: bool):
      less = Less(i, n) {{T=int32}}
      return c=less
    def turn({args}) -> ({results}):
      one = Const() {{dtype=int32, value=int32()[1]}}
      next = AddV2(i, one) {{T=int32}}
      shape = Const() {{dtype=int32, value=int32(2)[-1, 5]}}
      x = TensorListGetItem(xs, i, shape) {{element_dtype=float32}}
      o = TensorListGetItem(os, i, shape) {{element_dtype=float32}}
      axis = Const() {{dtype=int32, value=int32()[1]}}
      last = Const() {{dtype=int32, value=int32()[-1]}}
      three = Const() {{dtype=int32, value=int32(1)[3]}}
      kernel = Const() {{dtype=float32, value=float32(8, 3)[{kernel}]}}
      bias = Const() {{dtype=float32, value=float32(3)[1, 2, -1]}}
{steps}
      return j=next, m=n, xs2=xs, os2=os, t=end, r2=r, l2=l
"""
TYPES = ["int32", "int32", "variant", "variant", "float32", "float32", "int32"]
CELL = """
      both = ConcatV2({parts}, axis) {{N=2, T=float32, Tidx=int32}}
      product = MatMul(both, kernel) {{T=float32}}
      sum = BiasAdd(product, bias) {{T=float32}}
      end = Sin(sum) {{T=float32}}
"""
STEPS = {  # name: steps of the body, and the nodes that remain in it
    "a scalar": ("u = Sqrt(r) {T=float32}\n end = Mul(s, u) {T=float32}", {"Mul": 1}),
    "a row with a scalar": (
        """d = RealDiv(x, r) {T=float32}
           a = Abs(d) {T=float32}
           total = Sum(a, axis) {T=float32, Tidx=int32, keep_dims=true}
           end = AddV2(s, total) {T=float32}""",
        {"Gather": 1, "ReduceSum": 1, "Add": 1},
    ),
    "two rows": (
        """d = Sub(x, o) {T=float32}
           total = Mean(d, axis) {T=float32, Tidx=int32, keep_dims=true}
           end = AddV2(s, total) {T=float32}""",
        {"Gather": 1, "ReduceMean": 1, "Add": 1},
    ),
    "one row twice": (
        """a = Abs(x) {T=float32}
           b = Abs(x) {T=float32}
           c = Neg(a) {T=float32}
           d = Neg(b) {T=float32}
           e = Mean(c, axis) {T=float32, Tidx=int32, keep_dims=true}
           f = Prod(d, axis) {T=float32, Tidx=int32, keep_dims=true}
           g = AddV2(e, f) {T=float32}
           end = AddV2(s, g) {T=float32}""",
        {"Gather": 1, "ReduceMean": 1, "ReduceProd": 1, "Add": 2},
    ),
    "a row that a branch reads": (
        """d = Sub(x, o) {T=float32}
           total = Max(d, axis) {T=float32, Tidx=int32, keep_dims=true}
           end = AddV2(s, total) {T=float32}""",
        {"Gather": 1, "IsNaN": 1, "ReduceSum": 1, "If": 1, "Add": 1},
    ),
    "a mask by length": (
        """done = GreaterEqual(i, l) {T=int32}
           column = ExpandDims(done, axis) {T=bool, Tdim=int32}
           total = Sum(x, axis) {T=float32, Tidx=int32, keep_dims=true}
           more = AddV2(s, total) {T=float32}
           end = SelectV2(column, s, more) {T=float32}""",
        {"Gather": 2, "ReduceSum": 1, "Add": 1, "Where": 1},
    ),
    "input and state": (CELL.format(parts="x, s"), {"Gather": 1, "MatMul": 1, "Add": 1, "Sin": 1}),
    "state and input": (CELL.format(parts="s, x"), {"Gather": 1, "MatMul": 1, "Add": 1, "Sin": 1}),
    "a product that is read twice": (
        """both = ConcatV2(x, s, axis) {N=2, T=float32, Tidx=int32}
           product = MatMul(both, kernel) {T=float32}
           sum = BiasAdd(product, bias) {T=float32}
           end = Mul(sum, product) {T=float32}""",
        {"Gather": 1, "MatMul": 1, "Add": 2, "Mul": 1},
    ),
    "joined parts that are read": (
        """both = ConcatV2(x, s, axis) {N=2, T=float32, Tidx=int32}
           product = MatMul(both, kernel) {T=float32}
           total = Sum(both, axis) {T=float32, Tidx=int32, keep_dims=true}
           end = AddV2(product, total) {T=float32}""",
        {"Gather": 1, "Concat": 1, "MatMul": 1, "ReduceSum": 1, "Add": 1},
    ),
    "a product of a state": (
        "w = Const() {dtype=float32, value=float32(3, 3)[1, 0, 0, 1, 2, 0, 0, 1, 1]}\n"
        "end = MatMul(s, w) {T=float32}",
        {"MatMul": 1},
    ),
    "a row that grows": (
        """deep = ExpandDims(x, axis) {T=float32, Tdim=int32}
           wide = Const() {dtype=float32, value=float32(1, 4, 1)[1, 2, 3, 4]}
           many = Mul(deep, wide) {T=float32}
           axes = Const() {dtype=int32, value=int32(2)[1, 2]}
           total = Sum(many, axes) {T=float32, Tidx=int32, keep_dims=false}
           column = ExpandDims(total, axis) {T=float32, Tdim=int32}
           end = AddV2(s, column) {T=float32}""",
        {"Gather": 1, "Mul": 1, "ReduceSum": 1, "Unsqueeze": 1, "Add": 1},
    ),
}


def loop(steps):
    args, results = (
        ", ".join(f"{name}: {kind}" for name, kind in zip(names.split(), TYPES, strict=True))
        for names in ("i n xs os s r l", "j m xs2 os2 t r2 l2")
    )
    types = ", ".join(TYPES)
    steps = "\n".join(f"      {line.strip()}" for line in steps.splitlines())
    return LOOP.format(steps=steps, kernel=KERNEL, types=types, args=args, results=results)


def feeds(iterations, rows=6, others=6, batch=2):
    random = np.random.default_rng(3)
    return {
        "n:0": np.int32(iterations),
        "rows:0": random.normal(size=(rows, batch, 5)).astype(np.float32),
        "other:0": random.normal(size=(others, batch, 5)).astype(np.float32),
        "state:0": random.normal(size=(batch, 3)).astype(np.float32),
        "rate:0": np.float32(0.5),
        "lengths:0": np.array([4, 1, 2][:batch], np.int32),
    }


def body_of(models):
    """How often each op is in the body of the only loop; not what passes its condition on."""
    loops = [node for model in models for node in model.graph.node if node.op_type == "Loop"]
    (body,) = (attribute.g for node in loops for attribute in node.attribute if attribute.name == "body")
    return {op: n for op, n in Counter(node.op_type for node in body.node).items() if op != "Identity"}


@pytest.mark.parametrize("name", STEPS)
def test_a_body_has_only_what_varies(name):
    steps, remain = STEPS[name]
    engine = WatchedEngine(make_engine("onnxruntime"))
    session, on_host = session_of(loop(steps), engine=engine), session_of(loop(steps), engine=NoEngine())
    for iterations, rows, others, batch in (
        (6, 6, 6, 2),
        (3, 6, 5, 2),
        (1, 1, 9, 3),
        (0, 2, 2, 1),
        (-2, 2, 2, 1),
    ):
        values = feeds(iterations, rows, others, batch)
        np.testing.assert_allclose(
            session.run("y:0", values), on_host.run("y:0", values), rtol=1e-5, atol=1e-6
        )
    assert body_of(engine.compiled) == remain


@pytest.mark.parametrize(
    ("name", "rows", "others"),
    [
        ("two rows", 5, 6),
        ("two rows", 6, 5),
        ("two rows", 1, 6),
        ("two rows", 1, 1),
        ("two rows", 0, 6),
        ("input and state", 5, 6),
        ("input and state", 1, 6),
    ],
)
def test_a_row_out_of_range_is_an_error(name, rows, others):
    session = session_of(loop(STEPS[name][0]))
    with pytest.raises(Error, match=r"out of|empty"):
        session.run("y:0", feeds(6, rows, others))


def test_rows_need_no_more_memory_than_the_tensors_that_are_read():
    session = session_of(loop(STEPS["two rows"][0]), limits=RunLimits(max_loop_iterations=5))
    with pytest.raises(Error, match="5 iterations"):
        session.run("y:0", feeds(2**31 - 1))
