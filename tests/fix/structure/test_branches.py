"""If and Case as Switch and Merge: nodes, inputs and control dependencies."""

import numpy as np
import pytest
from tests.recorded_models import graph

import tfport
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.lower import lower, lower_case, lower_if, lower_while
from tfport.graph.build import graph_to_def

IF = """
    p = Placeholder() {dtype=COND, shape=SHAPE}
    x = Placeholder() {dtype=float32, shape=(?)}
    y = If(p, x) {Tcond=COND, Tin=[float32], Tout=[float32, int32], then_branch=@then, else_branch=@other}
    z = Neg(y) {T=float32}
    w = NoOp(^y)
    def then(x: float32) -> (y: float32, n: int32):
      two = Const() {dtype=float32, value=float32()[2.0]}
      m = Mul(x, two) {T=float32}
      n = Const() {dtype=int32, value=int32()[1]}
      return y=m, n=n
    def other(x: float32) -> (y: float32, n: int32):
      n = Const() {dtype=int32, value=int32()[0]}
      return y=x, n=n
"""
PLAIN = IF.replace("COND", "bool").replace("SHAPE", "()")


def if_of(cond="bool", shape="()"):
    return graph(IF.replace("COND", cond).replace("SHAPE", shape))


def answers(made, fetches, feeds):
    session = tfport.Session(tfport.load(graph_to_def(made).SerializeToString()))
    return session.run(fetches, feeds)


def test_the_parts_of_a_branch():
    made = if_of()
    lower_if(made["y"])
    taken = made["y/pred_id"]
    assert taken.inputs == (made["p"].output(0),)
    assert made["y/switch"].inputs == (taken.output(0), taken.output(0))
    assert made["y/switch_f"].inputs == (made["y/switch"].output(0),)
    assert made["y/switch_t"].inputs == (made["y/switch"].output(1),)
    for constant in ("y/then/two", "y/then/n"):
        assert made[constant].controls == (made["y/switch_t"],)
    assert made["y/else/n"].controls == (made["y/switch_f"],)
    assert made["y/then/m"].inputs[0] == made["y/sent"].output(1)
    assert made["y/else/result_0"].inputs == (made["y/sent"].output(0),)
    assert made["y/else/result_0"].controls == (made["y/switch_f"],)


def test_the_node_keeps_its_name_and_those_who_wait_for_it():
    made = if_of()
    lower_if(made["y"])
    merges = [made["y/merge"].output(0), made["y/merge_1"].output(0)]
    assert (made["y"].op, list(made["y"].inputs)) == ("IdentityN", merges)
    assert made["z"].inputs == (merges[0],)
    assert made["w"].controls == (made["y"],)


@pytest.mark.parametrize(
    ("cond", "shape", "values"),
    [
        ("bool", "()", [(True, 1), (False, 0)]),
        ("float32", "()", [(np.float32(0.5), 1), (np.float32(0), 0), (np.float32(np.nan), 1)]),
        ("int64", "()", [(np.int64(-1), 1), (np.int64(0), 0)]),
        ("string", "()", [(b"a", 1), (b"", 0)]),
        ("bool", "(?)", [(np.array([False]), 1), (np.zeros(0, bool), 0)]),
        ("string", "(...)", [(np.array([b""], object), 1), (np.array(b"", object), 0), (b"a", 1)]),
        ("int32", "(...)", [(np.zeros((2, 0), np.int32), 0), (np.int32(0), 0), (np.int32(3), 1)]),
    ],
)
def test_what_counts_as_true(cond, shape, values):
    made = if_of(cond, shape)
    lower(made["y"])
    assert str(made["y/pred_id"].attrs["T"]) == "bool"
    session = tfport.Session(tfport.load(graph_to_def(made).SerializeToString()))
    for p, taken in values:
        y, n = session.run(["y:0", "y:1"], {"p:0": p, "x:0": np.float32([3])})
        assert (y.tolist(), int(n)) == ([3.0 + 3 * taken], taken)


CASE = """
    i = Placeholder() {dtype=int32, shape=()}
    x = Placeholder() {dtype=float32, shape=()}
    y = Case(i, x) {Tin=[float32], Tout=[float32], branches=[BRANCHES]}
"""


def case_of(count):
    functions = [
        f"""
    def f{k}(x: float32) -> (y: float32):
      c = Const() {{dtype=float32, value=float32()[{k}.0]}}
      s = Add(x, c) {{T=float32}}
      return y=s"""
        for k in range(count)
    ]
    return graph(CASE.replace("BRANCHES", ", ".join(f"@f{k}" for k in range(count))) + "".join(functions))


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_an_index_that_is_none_takes_the_last(count):
    made = case_of(count)
    lower_case(made["y"])
    session = tfport.Session(tfport.load(graph_to_def(made).SerializeToString()))
    for i in (*range(count), count, 100, -1, -100):
        expected = 10 + (i if 0 <= i < count else count - 1)
        assert float(session.run("y:0", {"i:0": np.int32(i), "x:0": np.float32(10)})) == expected


def test_few_choices_are_one_behind_the_other():
    made = case_of(100)
    lower_case(made["y"])
    assert sum(node.op == "Merge" for node in made) == 99
    node, depth = made["y"].inputs[0].node, 0
    while node.op == "Merge":
        depth += 1
        node = node.inputs[0].node
    assert depth <= 7


EFFECTS = """
    p = Placeholder() {dtype=bool, shape=()}
    v = VarHandleOp() {dtype=float32, shape=(), shared_name="v"}
    zero = Const() {dtype=float32, value=float32()[0.0]}
    init = AssignVariableOp(v, zero) {dtype=float32}
    y = If(p, v) {Tcond=bool, Tin=[resource], Tout=[], then_branch=@count, else_branch=@leave}
    r = ReadVariableOp(v, ^y) {dtype=float32}
    def count(v: resource) -> ():
      one = Const() {dtype=float32, value=float32()[1.0]}
      add = AssignAddVariableOp(v, one) {dtype=float32}
      return ^add
    def leave(v: resource) -> ():
      n = NoOp()
      return ^n
"""


def test_effects_without_results_happen_once_and_before_what_waits():
    made = graph(EFFECTS)
    lower_if(made["y"])
    assert made["y"].op == "NoOp"
    assert [node.op for node in made["y"].controls] == ["Merge"]
    assert made["y/then/done"].controls[0] is made["y/then/add"]
    session = tfport.Session(tfport.load(graph_to_def(made).SerializeToString()))
    session.run("init")
    assert [float(session.run("r:0", {"p:0": p})) for p in (True, True, False, True)] == [1, 2, 2, 3]


def test_effects_wait_for_all_that_is_passed():
    made = graph(EFFECTS.replace("y = If(p, v)", "u = Identity(v) {T=resource}\n    y = If(p, u)"))
    lower_if(made["y"])
    assert made["u"] in made["y/pred_id"].controls


RECURSIVE = """
    p = Placeholder() {dtype=bool, shape=()}
    y = If(p, p) {Tcond=bool, Tin=[bool], Tout=[bool], then_branch=@f, else_branch=@g}
    def f(p: bool) -> (q: bool):
      again = PartitionedCall(p) {Tin=[bool], Tout=[bool], f=@g}
      return q=again
    def g(p: bool) -> (q: bool):
      again = If(p, p) {Tcond=bool, Tin=[bool], Tout=[bool], then_branch=@f, else_branch=@g}
      return q=again
"""
DOUBLING = """
    p = Placeholder() {dtype=bool, shape=()}
    y = If(p, p) {Tcond=bool, Tin=[bool], Tout=[bool], then_branch=@f0, else_branch=@f0}
""" + "".join(
    f"""
    def f{k}(p: bool) -> (q: bool):
      a = PartitionedCall(p) {{Tin=[bool], Tout=[bool], f=@f{k + 1}}}
      b = PartitionedCall(a) {{Tin=[bool], Tout=[bool], f=@f{k + 1}}}
      return q=b"""
    for k in range(40)
) + """
    def f40(p: bool) -> (q: bool):
      n = LogicalNot(p)
      return q=n
"""  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (RECURSIVE, "f calls itself; a graph without functions cannot be recursive"),
        (DOUBLING, "nodes; the limit is 1000000"),
        (PLAIN.replace("@other", "@none"), "calls none, which"),
        (
            PLAIN.replace("(p, x) {", "(p, x, x) {").replace("Tin=[float32]", "Tin=[float32, float32]"),
            "passes 2 tensors, but then expects 1",
        ),
        (PLAIN.replace("Tout=[float32, int32]", "Tout=[float32]"),
         "expects 1 results, but then returns 2"),
        (CASE.replace("BRANCHES", ""), "does not name the functions of a Case"),
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(text, why):
    made = graph(text)
    before = graph_to_def(made).SerializeToString(deterministic=True)
    with pytest.raises(StructureRefusal, match=why):
        lower(made["y"])
    assert graph_to_def(made).SerializeToString(deterministic=True) == before


def test_each_function_asks_for_its_own_kind_of_node():
    made = if_of()
    with pytest.raises(StructureRefusal, match="`y` is If, not While"):
        lower_while(made["y"])
    with pytest.raises(StructureRefusal, match="`z` is Neg, not If"):
        lower(made["z"])


TF1 = """
    p = Placeholder() {dtype=bool, shape=()}
    x = Placeholder() {dtype=float32, shape=()}
    q = Placeholder() {dtype=bool, shape=()}
    s = Switch(x, p) {T=float32}
    y = StatelessIf(q, s:1) {Tcond=bool, Tin=[float32], Tout=[float32], then_branch=@f, else_branch=@g}
    m = Merge(s, y) {T=float32, N=2}
    def f(x: float32) -> (y: float32):
      c = Const() {dtype=float32, value=float32()[1.0]}
      return y=c
    def g(x: float32) -> (y: float32):
      n = Neg(x) {T=float32}
      return y=n
"""


def test_a_branch_in_a_branch_of_tf1_runs_only_there():
    made = graph(TF1)
    lower_if(made["y"])
    assert [node.name for node in made["y/pred_id"].controls] == ["q", "y/arrival"]
    for p, q, expected in [(True, True, 1), (True, False, -5), (False, True, 5), (False, False, 5)]:
        assert float(answers(made, "m:0", {"p:0": p, "q:0": q, "x:0": np.float32(5)})) == expected
