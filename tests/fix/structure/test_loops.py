"""While as a TF1 frame: constants, loop variables and control dependencies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recorded_models import graph

import tfport
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.lower import lower_all, lower_while
from tfport.graph.build import graph_to_def

LOOP = """
    n = Placeholder() {dtype=int32, shape=()}
    x = Placeholder() {dtype=float32, shape=(?)}
    zero = Const() {dtype=int32, value=int32()[0]}
    y = StatelessWhile(zero, n, x, x) {T=[int32, int32, float32, float32], cond=@go, body=@turn, SHAPES}
    z = Neg(y:3) {T=float32}
    w = NoOp(^y)
    def go(i: int32, n: int32, x: float32, s: float32) -> (go: bool):
      less = Less(i, n) {T=int32}
      return go=less
    def turn(i: int32, n: int32, x: float32, s: float32) -> (j: int32, m: int32, y: float32, t: float32):
      one = Const() {dtype=int32, value=int32()[1]}
      next = Add(i, one) {T=int32}
      same = Identity(x) {T=float32}
      square = Mul(x, x) {T=float32}
      sum = Add(s, square) {T=float32}
      return j=next, m=n, y=same, t=sum
"""
LOOP = LOOP.replace("SHAPES", "parallel_iterations=7, output_shapes=[(), (), (?), (?)]")


def session_of(made):
    return tfport.Session(tfport.load(graph_to_def(made).SerializeToString()))


def test_what_never_changes_enters_as_a_constant():
    made = graph(LOOP)
    lower_while(made["y"])
    enters = [node for node in made if node.op == "Enter"]
    assert [node.attrs["is_constant"] for node in enters] == [False, True, True, False]
    assert {(n.attrs["frame_name"], n.attrs["parallel_iterations"]) for n in enters} == {("y", 7)}
    assert sum(node.op == "Exit" for node in made) == 2
    assert made["y"].inputs[1:3] == (made["n"].output(0), made["x"].output(0))


def test_variables_go_round():
    made = graph(LOOP)
    lower_while(made["y"])
    merge, switch = made["y/merge"], made["y/switch"]
    assert merge.inputs == (made["y/enter"].output(0), made["y/next"].output(0))
    assert switch.inputs == (merge.output(0), made["y/loop_cond"].output(0))
    assert made["y/exit"].inputs == (switch.output(0),)
    assert made["y/turn"].inputs == (switch.output(1),)
    assert made["y/next"].inputs[0].node.inputs == (made["y/body/next"].output(0),)


def test_what_reads_only_constants_of_the_loop_hangs_on_the_turn():
    made = graph(LOOP)
    lower_while(made["y"])
    for name in ("y/body/one", "y/body/square"):
        assert made["y/turn"] in made[name].controls
    assert made["y/merge"] in made["y/cond/less"].controls


def test_the_node_keeps_its_name_and_those_who_wait_for_it():
    made = graph(LOOP)
    lower_while(made["y"])
    assert made["y"].op == "IdentityN"
    assert made["y"].controls == (made["y/exit"],)
    assert made["z"].inputs == (made["y/exit_1"].output(0),)
    assert made["w"].controls == (made["y"],)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 6), st.lists(st.integers(-4, 4), max_size=3))
def test_a_loop_turns_as_often_as_before(n, x):
    made = graph(LOOP)
    lower_while(made["y"])
    given_x = np.array(x, np.float32)
    i, s = session_of(made).run(["y:0", "y:3"], {"n:0": np.int32(n), "x:0": given_x})
    assert int(i) == n
    np.testing.assert_array_equal(s, given_x + n * given_x * given_x)


def test_a_condition_that_is_a_number():
    text = LOOP.replace("-> (go: bool)", "-> (go: int32)").replace("less = Less(i, n)", "less = Sub(i, n)")
    made = graph(text)
    lower_while(made["y"])
    assert made["y/loop_cond"].inputs[0].node.op == "NotEqual"
    assert int(session_of(made).run("y:0", {"n:0": np.int32(3), "x:0": np.float32([1])})) == 3


UNCHANGED = """
    p = Placeholder() {dtype=bool, shape=()}
    y = While(p) {T=[bool], cond=@go, body=@turn}
    def go(p: bool) -> (go: bool):
      never = Const() {dtype=bool, value=bool()[false]}
      return go=never
    def turn(p: bool) -> (q: bool):
      return q=p
"""


def test_a_loop_that_changes_nothing_still_has_a_variable():
    made = graph(UNCHANGED)
    lower_while(made["y"])
    assert [node.attrs["is_constant"] for node in made if node.op == "Enter"] == [False]
    assert session_of(made).run("y:0", {"p:0": True}).item() is True


def test_loops_of_one_name_in_the_file_are_frames_apart():
    frame = 'e = Enter(p) {T=bool, frame_name="y"}\n    l = Exit(e) {T=bool}\n    y ='
    made = graph(UNCHANGED.replace("y =", frame, 1))
    lower_while(made["y"])
    assert made["y/enter"].attrs["frame_name"] == "y_1"


COUNTED = """
    n = Placeholder() {dtype=int32, shape=()}
    v = VarHandleOp() {dtype=int32, shape=(), shared_name="v"}
    zero = Const() {dtype=int32, value=int32()[0]}
    init = AssignVariableOp(v, zero) {dtype=int32}
    y = While(zero, n, v) {T=[int32, int32, resource], cond=@go, body=@turn, output_shapes=[(), (), ()]}
    r = ReadVariableOp(y:2) {dtype=int32}
    def go(i: int32, n: int32, v: resource) -> (go: bool):
      less = Less(i, n) {T=int32}
      return go=less
    def turn(i: int32, n: int32, v: resource) -> (j: int32, m: int32, w: resource):
      one = Const() {dtype=int32, value=int32()[1]}
      two = Const() {dtype=int32, value=int32()[2]}
      next = Add(i, one) {T=int32}
      old = ReadVariableOp(v) {dtype=int32}
      twice = Mul(old, two) {T=int32}
      new = Add(twice, i) {T=int32}
      set = AssignVariableOp(v, new) {dtype=int32}
      return j=next, m=n, w=v, ^set
"""


def test_turns_with_effects_come_one_after_the_other():
    made = graph(COUNTED)
    lower_while(made["y"])
    assert made["y/body/set"] in made["y/next"].inputs[0].node.controls
    assert made["r"].inputs[0].node.controls == (made["y/exit"],)
    session = session_of(made)
    expected = 0
    session.run("init")
    for n in (0, 3, 4):
        for i in range(n):
            expected = expected * 2 + i
        assert int(session.run("r:0", {"n:0": np.int32(n)})) == expected


def test_a_loop_without_variables_stays():
    text = UNCHANGED.replace("While(p) {T=[bool]", "While() {T=[]").replace(
        "(p: bool) -> (q: bool)", "() -> ()"
    )
    made = graph(text.replace("go(p: bool)", "go()").replace("return q=p", "return"))
    with pytest.raises(StructureRefusal, match="`y` is a loop without loop variables"):
        lower_all(made)
