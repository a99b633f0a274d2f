"""TF1's branches and loops as functional ones: lowering and raising keeps the outputs."""

import numpy as np
import pytest
import tests.fix.structure.nested_programs as programs
from hypothesis import example, given, settings
from tests.fix.structure.test_loops import COUNTED
from tests.fix.structure.test_nested import lowered
from tests.recorded_models import graph
from tests.runtime.ops.control.test_control_v1 import COND, IN_A_ROW, LOOP, NESTED

import tfport
from tfport.fix.structure.functional_ops import StructureRefusal
from tfport.fix.structure.lower import lower_all
from tfport.fix.structure.raise_control import raise_control
from tfport.graph.build import graph_to_def
from tfport.graph.op_facts.kinds import FUNCTIONAL

LOWER = ("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond")


def session_of(made):
    return tfport.Session(tfport.load(graph_to_def(made).SerializeToString()))


# raising the outer branch removes the merge that `set` makes useless, and with it a part of the inner branch
UNUSED_INNER_RESULT = [("if", [("while", 0, [("if", [], [])]), ("if", [], []), ("set", 0)], [])]


@settings(max_examples=20, deadline=None)
@given(programs.PROGRAMS)
@example(UNUSED_INNER_RESULT)
def test_there_and_back_again(program):
    made = lowered(programs.text_of(program))
    raise_control(made)
    assert not any(node.op in LOWER for node in made)
    session = session_of(made)
    for a, b in [(0, 0), (1, 2), (3, -1)]:
        actual = session.run(["c:0", "d:0"], {"a:0": np.int32(a), "b:0": np.int32(b)})
        assert tuple(map(int, actual)) == programs.answer(program, a, b)


X = np.float32([1, -2])
BODY = "Mul(xx, ew) {T=float32}"
CASES = {  # text, fetches, feeds
    "cond": (COND, ["m:0", "n:0"], [{"p:0": p, "x:0": X} for p in (True, False)]),
    "in_a_row": (IN_A_ROW, ["m:0", "q:0"], [{"p:0": p, "x:0": X} for p in (True, False)]),
    "nested": (
        NESTED,
        ["m:0"],
        [{"p:0": p, "q:0": q, "x:0": X} for p in (True, False) for q in (True, False)],
    ),
    "loop": (LOOP.replace("BODY", BODY), [], [{"n:0": np.int32(n), "x:0": X} for n in (0, 1, 4)]),
}


@pytest.mark.parametrize("name", CASES)
def test_names_of_merges_and_exits_stay_true(name):
    text, fetches, feeds = CASES[name]
    before, made = graph(text), graph(text)
    fetches = fetches or [f"{node.name}:0" for node in before if node.op == "Exit"]
    assert raise_control(made)
    assert any(node.op in FUNCTIONAL for node in made)
    assert not any(node.op in LOWER for node in made)
    old, new = session_of(before), session_of(made)
    for given_now in feeds:
        for a, b in zip(old.run(fetches, given_now), new.run(fetches, given_now), strict=True):
            np.testing.assert_array_equal(a, b)


def test_which_input_a_merge_took():
    text = COND + "    k = Identity(m:1) {T=int32}\n"
    made = graph(text)
    raise_control(made)
    session = session_of(made)
    assert [int(session.run("k:0", {"p:0": p, "x:0": X})) for p in (True, False)] == [1, 0]


def test_effects_make_a_loop_stateful():
    made = graph(COUNTED)
    lower_all(made)
    assert raise_control(made) == 1
    assert [node.op for node in made if node.op in FUNCTIONAL] == ["While"]
    session = session_of(made)
    session.run("init")
    assert [int(session.run("r:0", {"n:0": np.int32(n)})) for n in (3, 2)] == [4, 17]


UNDECIDED = """
    x = Placeholder() {dtype=float32, shape=()}
    y = Placeholder() {dtype=float32, shape=()}
    m = Merge(x, y) {T=float32, N=2}
"""
EFFECT = """
    p = Placeholder() {dtype=bool, shape=()}
    s = Switch(p, p) {T=bool}
    e = Print(s:1, p) {T=bool, U=[bool], message="", first_n=-1, summarize=3}
"""
LOST = LOOP.replace("BODY", BODY) + """
    e = Print(xx, i) {T=float32, U=[int32], message="", first_n=-1, summarize=3}
"""  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (UNDECIDED, r"`m` \(Merge\) is not part of a recognized branch or loop"),
        (EFFECT, r"`s` \(Switch\) is not part of a recognized branch or loop"),
        (LOST, r"no result of the loop depends on `e` \(Print\)"),
    ],
)
def test_what_stays_and_why(text, why):
    with pytest.raises(StructureRefusal, match=why):
        raise_control(graph(text))


def test_colocation_with_a_removed_node_is_dropped():
    made = graph(COND + '    k = Neg(m) {T=float32, _class=["loc:@doubled", "loc:@m"]}\n')
    raise_control(made)
    assert made["k"].attrs["_class"] == ["loc:@m"]
