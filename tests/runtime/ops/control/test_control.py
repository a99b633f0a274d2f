"""Functional control flow: If, Case, While and calls."""

import numpy as np
import pytest
from tests.recorded_models import graph
from tests.runtime.cases import boolean, check, checks, f32, graph_case, i32, numbers, scalar, strings

import tfport
from tfport.graph.build import graph_to_def

ADD_OR_MUL = """
    def plus(a: float32, b: float32) -> (y: float32, z: float32):
      s = AddV2(a, b) {T=float32}
      return y=s, z=b
    def times(a: float32, b: float32) -> (y: float32, z: float32):
      m = Mul(a, b) {T=float32}
      return y=m, z=b
"""
PAIRS = "Tin=[float32, float32], Tout=[float32, float32]"
BRANCHES = f"{PAIRS}, then_branch=@plus, else_branch=@times"
IF = f"""
    p = Placeholder() {{dtype=KIND, shape=SHAPE}}
    a = Placeholder() {{dtype=float32, shape=(?)}}
    b = Placeholder() {{dtype=float32, shape=(?)}}
    y = OP(p, a, b) {{Tcond=KIND, {BRANCHES}}}
    z = Neg(y) {{T=float32}}
"""


def branch(p, *, kind="bool", shape="()", op="StatelessIf", **options):
    text = (IF + ADD_OR_MUL).replace("KIND", kind).replace("SHAPE", shape).replace("OP", op)
    return graph_case(
        text, fetches=["z:0", "y:1"], name=op, p=p, a=numbers(3, seed=1), b=numbers(3, seed=2), **options
    )


CASE = """
    i = Placeholder() {dtype=int32, shape=()}
    a = Placeholder() {dtype=float32, shape=(?)}
    b = Placeholder() {dtype=float32, shape=(?)}
    y = StatelessCase(i, a, b) {PAIRS, branches=[@plus, @times, @swap]}
    def swap(a: float32, b: float32) -> (y: float32, z: float32):
      return y=b, z=a
"""


def case_of_three(i):
    return graph_case(
        CASE.replace("PAIRS", PAIRS) + ADD_OR_MUL,
        fetches=["y:0", "y:1"],
        name="Case",
        i=scalar(i),
        a=f32(1, 2),
        b=f32(3, 4),
    )


POWERS = """
    n = Placeholder() {dtype=int32, shape=()}
    x = Placeholder() {dtype=float32, shape=(?)}
    zero = Const() {dtype=int32, value=int32()[0]}
    w = OP(zero, n, x, x) {T=[int32, int32, float32, float32], cond=@go, body=@turn}
    def go(i: int32, n: int32, x: float32, y: float32) -> (r: bool):
      c = Less(i, n) {T=int32}
      return r=c
    def turn(i: int32, n: int32, x: float32, y: float32) -> (i1: int32, n1: int32, x1: float32, y1: float32):
      one = Const() {dtype=int32, value=int32()[1]}
      j = AddV2(i, one) {T=int32}
      m = Mul(x, y) {T=float32}
      return i1=j, n1=n, x1=x, y1=m
"""


def powers(n, op="StatelessWhile", x=None):
    values = numbers(4) if x is None else x
    return graph_case(POWERS.replace("OP", op), fetches=["w:0", "w:2", "w:3"], name=op, n=scalar(n), x=values)


GROWING = """
    x = Placeholder() {dtype=float32, shape=(?)}
    zero = Const() {dtype=int32, value=int32()[0]}
    w = While(zero, x) {T=[int32, float32], cond=@go, body=@turn, output_shapes=[(), (?)]}
    def go(i: int32, x: float32) -> (r: bool):
      n = Const() {dtype=int32, value=int32()[3]}
      c = Less(i, n) {T=int32}
      return r=c
    def turn(i: int32, x: float32) -> (i1: int32, x1: float32):
      one = Const() {dtype=int32, value=int32()[1]}
      j = AddV2(i, one) {T=int32}
      axis = Const() {dtype=int32, value=int32()[0]}
      m = ConcatV2(x, x, axis) {N=2, T=float32, Tidx=int32}
      return i1=j, x1=m
"""
WORDS = """
    s = Placeholder() {dtype=string, shape=()}
    zero = Const() {dtype=int32, value=int32()[0]}
    w = While(zero, s) {T=[int32, string], cond=@go, body=@turn, output_shapes=[(), ()]}
    def go(i: int32, s: string) -> (r: bool):
      n = Const() {dtype=int32, value=int32()[3]}
      c = Less(i, n) {T=int32}
      return r=c
    def turn(i: int32, s: string) -> (i1: int32, s1: string):
      one = Const() {dtype=int32, value=int32()[1]}
      j = AddV2(i, one) {T=int32}
      t = StringJoin(s, s) {N=2, separator="-"}
      return i1=j, s1=t
"""
COUNTS_DOWN = """
    n = Placeholder() {dtype=int32, shape=()}
    x = Placeholder() {dtype=float32, shape=()}
    w = While(n, x) {T=[int32, float32], cond=@go, body=@turn}
    def go(n: int32, x: float32) -> (r: int32):
      return r=n
    def turn(n: int32, x: float32) -> (n1: int32, x1: float32):
      one = Const() {dtype=int32, value=int32()[1]}
      less = Sub(n, one) {T=int32}
      y = AddV2(x, x) {T=float32}
      return n1=less, x1=y
"""
NESTED = """
    x = Placeholder() {dtype=float32, shape=(?)}
    zero = Const() {dtype=int32, value=int32()[0]}
    w = StatelessWhile(zero, x) {T=[int32, float32], cond=@go, body=@outer, output_shapes=[(), (?)]}
    def go(i: int32, x: float32) -> (r: bool):
      n = Const() {dtype=int32, value=int32()[3]}
      c = Less(i, n) {T=int32}
      return r=c
    def outer(i: int32, x: float32) -> (i1: int32, x1: float32):
      one = Const() {dtype=int32, value=int32()[1]}
      j = AddV2(i, one) {T=int32}
      zero = Const() {dtype=int32, value=int32()[0]}
      w = StatelessWhile(zero, x) {T=[int32, float32], cond=@go, body=@inner, output_shapes=[(), (?)]}
      two = Const() {dtype=int32, value=int32()[2]}
      late = Less(i, two) {T=int32}
      c = StatelessIf(late, w:1) {Tcond=bool, ONE, then_branch=@neg, else_branch=@same}
      return i1=j, x1=c
    def inner(i: int32, x: float32) -> (i1: int32, x1: float32):
      one = Const() {dtype=int32, value=int32()[1]}
      j = AddV2(i, one) {T=int32}
      half = Const() {dtype=float32, value=float32()[0.5]}
      y = AddV2(x, half) {T=float32}
      return i1=j, x1=y
    def neg(x: float32) -> (y: float32):
      y1 = Neg(x) {T=float32}
      return y=y1
    def same(x: float32) -> (y: float32):
      return y=x
"""
NESTED = NESTED.replace("ONE", "Tin=[float32], Tout=[float32]")
CASES = [
    branch(boolean(True)[0]), branch(boolean(False)[0]), branch(boolean(True)[0], op="If"),
    branch(scalar(3), kind="int32"), branch(scalar(0), kind="int32"), branch(np.float32(0.5), kind="float32"),
    branch(np.float32(np.nan), kind="float32"), branch(f32(0), kind="float32", shape="(?)"),
    branch(f32(), kind="float32", shape="(?)"), branch(strings("yes")[0:1].reshape(()), kind="string"),
    branch(strings("").reshape(()), kind="string"),
    *(case_of_three(i) for i in (0, 1, 2, 3, -1)),
    powers(0), powers(1), powers(5), powers(5, "While"), powers(3, x=f32()),
    graph_case(GROWING, fetches=["w:0", "w:1"], name="growing", x=f32(1, 2)),
    graph_case(WORDS, fetches=["w:0", "w:1"], name="words", s=strings("ab").reshape(())),
    graph_case(COUNTS_DOWN, fetches=["w:0", "w:1"], name="down", n=scalar(4), x=np.float32(1.5)),
    graph_case(NESTED, fetches=["w:0", "w:1"], name="nested", x=f32(1, -2, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_control(c, ways):
    check("control", c, ways)


def steps(text, fetches, feeds):
    model = tfport.load(graph_to_def(graph(text)).SerializeToString())
    return tfport.Session(model).program(fetches, feeds).steps


def test_numeric_loops_and_branches_are_lowered_to_onnx():
    (loop,) = steps(POWERS.replace("OP", "While"), ["w:3"], ["n:0", "x:0"])[-1:]
    assert [node.op for node in loop.lowered] == ["Loop"]
    # neither the counter nor the constant factor is a loop variable
    assert len(loop.outputs) == 1
    nested = steps(NESTED, ["w:1"], ["x:0"])
    assert [step.lowered is not None for step in nested] == [True]


def test_only_the_selected_branch_of_a_constant_condition_must_be_supported():
    text = """
        x = Placeholder() {dtype=float32, shape=(?)}
        p = Const() {dtype=bool, value=bool()[true]}
        y = If(p, x) {Tcond=bool, Tin=[float32], Tout=[float32], then_branch=@known, else_branch=@unknown}
        def known(x: float32) -> (y: float32):
          n = Neg(x) {T=float32}
          return y=n
        def unknown(x: float32) -> (y: float32):
          n = XlaHostCompute(x) {Tinputs=[float32], Toutputs=[float32], ancestors=[], shapes=[]}
          return y=n
    """
    assert [step.op for step in steps(text, ["y:0"], ["x:0"])] == ["Neg"]


def test_side_effects_run_once_and_only_in_the_selected_branch():
    text = """
        p = Placeholder() {dtype=bool, shape=()}
        v = VarHandleOp() {dtype=float32, shape=(), shared_name="v"}
        zero = Const() {dtype=float32, value=float32()[0.0]}
        init = AssignVariableOp(v, zero) {dtype=float32}
        y = If(p, v) {Tcond=bool, Tin=[resource], Tout=[float32], then_branch=@count, else_branch=@look}
        def count(v: resource) -> (y: float32):
          one = Const() {dtype=float32, value=float32()[1.0]}
          add = AssignAddVariableOp(v, one) {dtype=float32}
          r = ReadVariableOp(v, ^add) {dtype=float32}
          return y=r
        def look(v: resource) -> (y: float32):
          r = ReadVariableOp(v) {dtype=float32}
          return y=r
    """
    session = tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()))
    session.run("init")
    assert [float(session.run("y:0", {"p:0": p})) for p in (True, True, False, False)] == [1, 2, 2, 2]


def test_a_loop_runs_until_its_condition_on_a_variable_is_false():
    text = """
        v = VarHandleOp() {dtype=int32, shape=(), shared_name="v"}
        zero = Const() {dtype=int32, value=int32()[0]}
        init = AssignVariableOp(v, zero) {dtype=int32}
        w = While(v) {T=[resource], cond=@go, body=@turn}
        y = ReadVariableOp(v, ^w) {dtype=int32}
        def go(v: resource) -> (r: bool):
          now = ReadVariableOp(v) {dtype=int32}
          most = Const() {dtype=int32, value=int32()[7]}
          c = Less(now, most) {T=int32}
          return r=c
        def turn(v: resource) -> (v1: resource):
          one = Const() {dtype=int32, value=int32()[1]}
          add = AssignAddVariableOp(v, one) {dtype=int32}
          same = Identity(v, ^add) {T=resource}
          return v1=same
    """
    session = tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()))
    session.run("init")
    assert session.run("y:0") == i32(7)[0]


def test_a_tf1_function_runs_side_effects_without_control_outputs():
    text = """
        v = VarHandleOp() {dtype=float32, shape=(), shared_name="v"}
        zero = Const() {dtype=float32, value=float32()[0.0]}
        init = AssignVariableOp(v, zero) {dtype=float32}
        y = count(v, zero)
        r = ReadVariableOp(v, ^y) {dtype=float32}
        def count(v: resource, x: float32) -> (y: float32):
          one = Const() {dtype=float32, value=float32()[1.0]}
          add = AssignAddVariableOp(v, one) {dtype=float32}
          n = Neg(x) {T=float32}
          return y=n
    """
    session = tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()))
    session.run("init")
    assert [float(session.run("r:0")) for _ in range(2)] == [1, 2]
