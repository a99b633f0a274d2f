import pytest
from tests.recorded_models import NAMES, OPS, PROGRAMS, graph, shared

from tfport.errors import MalformedGraph
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.build import graph_from_def
from tfport.graph.graph import Graph, Node
from tfport.graph.reach import called_by, functions_of, in_order, is_listed_in_order, loops, needed_by


def names(nodes) -> list[str]:
    return sorted(node.name for node in nodes)


CHAIN = """
    a = Const()
    b = Neg(a)
    c = NoOp(^b)
    d = Abs(a, ^c)
    e = Exp(b)
"""


def test_a_node_needs_what_it_reads_and_waits_for():
    g = graph(CHAIN)
    assert names(needed_by([g["d"]])) == ["a", "b", "c", "d"]
    assert names(needed_by([g["a"]])) == ["a"]
    assert names(needed_by([])) == []


def test_needed_nodes_are_in_one_order():
    """A set of nodes has another order in each process, and `fix` would write calls in that order."""
    text = "end = NoOp(" + ", ".join(f"^n{i}" for i in range(50)) + ")"
    g = graph("\n".join([*(f"n{i} = NoOp()" for i in range(50)), text]))
    assert [node.name for node in needed_by([g["end"]])] == ["end", *(f"n{i}" for i in range(50))]


def test_nodes_come_after_all_that_they_need():
    g = graph(CHAIN)
    assert [node.name for node in in_order(g)] == ["a", "b", "c", "e", "d"]
    assert [node.name for node in in_order(g, [g["d"], g["b"]])] == ["d", "b"]


def assert_in_order(nodes: list[Node]) -> None:
    seen = set()
    inside = set(nodes)
    for node in nodes:
        before = {v.node for v in node.inputs} | set(node.controls)
        back = {b for b in before if b.op.endswith("NextIteration") and node.op.endswith("Merge")}
        assert (before - back) & inside <= seen
        seen.add(node)
    assert seen == inside


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_recorded_graph_has_an_order(name):
    program = shared(name).graph
    for body in (program, *program.library.functions.values()):
        order = in_order(body)
        assert len(order) == len(body)
        assert_in_order(order)


CYCLES = [
    ("a = Neg(a)", "a"),
    ("a = Neg(b)\nb = Neg(a)", "[ab]"),
    ("a = NoOp(^b)\nb = NoOp(^a)\nc = NoOp(^b)", "[ab]"),
    ("a = NextIteration(b)\nb = NextIteration(a)", "[ab]"),
]


@pytest.mark.parametrize(("text", "on_it"), CYCLES)
def test_a_cycle_is_refused_and_named(text, on_it):
    with pytest.raises(MalformedGraph, match=f"^the graph has a cycle: `{on_it}` needs its own result$"):
        in_order(graph(text))


LOOP = """
    start = Const()
    enter = Enter(start) {frame_name="outer"}
    merge = Merge(enter, next)
    less = Less(merge, merge)
    cond = LoopCond(less)
    switch = Switch(merge, cond)
    exit = Exit(switch)
    inner = Enter(switch:1) {frame_name="inner"}
    merge2 = Merge(inner, next2)
    switch2 = Switch(merge2, cond)
    exit2 = Exit(switch2)
    next2 = NextIteration(switch2:1)
    next = NextIteration(exit2)
    after = Neg(exit)
"""


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("a = Const()\nb = Identity(a)", True),
        ("b = Identity(a)\na = Const()", False),
        ("a = NoOp()\nb = NoOp(^a)", True),
        ("b = NoOp(^a)\na = NoOp()", True),
        ("b = NoOp(^a)\na = NoOp()\nc = NoOp(^b)", False),
        ("a = Const(^b)\nb = Identity(a)", False),
    ],
)
def test_a_graph_is_listed_in_order_if_each_node_follows_what_it_needs(text, listed):
    assert is_listed_in_order(graph(text)) == listed


def test_arguments_come_before_the_nodes_of_a_function():
    body = graph("def f(x: float32) -> (y: float32):\n  n = Neg(x) {T=float32}\n  return y=n")
    assert is_listed_in_order(body.library.functions["f"])


def test_what_is_returned_may_wait_for_later_nodes():
    text = "def f(x: float32) -> (y: float32):\n  n = Neg(x, ^o) {T=float32}\n  o = NoOp()\n  return y=n"
    assert is_listed_in_order(graph(text).library.functions["f"])


def test_a_missing_node_is_no_reason_to_look_for_an_order():
    record = pb.GraphDef(node=[pb.NodeDef(name="x", op="Identity", input=["lost"])])
    assert is_listed_in_order(graph_from_def(record, graph("").ops))


def test_a_loop_has_an_order_and_nodes():
    g = graph(LOOP)
    assert_in_order(in_order(g))
    frames = loops(g)
    assert list(frames) == ["outer", "inner"]
    assert "after" not in names(frames["outer"])
    assert {"enter", "exit", "inner", "next2", "exit2", "next"} <= set(names(frames["outer"]))
    assert names(frames["inner"]) == ["exit2", "inner", "merge2", "next2", "switch2"]


def test_the_loops_of_a_recorded_graph_are_found():
    frames = loops(shared("loops").graph)
    assert frames
    for frame, nodes in frames.items():
        assert {node.attrs["frame_name"] for node in nodes if node.op == "Enter"} >= {frame}
        assert {"Enter", "Merge", "Switch", "NextIteration", "Exit"} <= {node.op for node in nodes}
        assert_in_order(in_order(shared("loops").graph, nodes))


CALLS = """
    x = Const()
    a = PartitionedCall(x) {f=@f}
    b = While(x) {body=@g {inner=@h}, cond=@nobody}
    c = Case(x) {branches=[@h, @f]}
    d = g(x)
    e = Acme(x) {anything=@h}
    s = Const() {note="f"}
    def f(x: float32) -> (y: float32):
      c = PartitionedCall(x) {f=@f}
      d = g(x)
      return y=c
    def g(x: float32) -> (y: float32):
      return y=x
    def h(x: float32) -> (y: float32):
      return y=x
"""


CALLED = [("a", "f"), ("b", "nobody g h"), ("c", "h f"), ("d", "g"), ("e", "h"), ("s", "")]


@pytest.mark.parametrize(("name", "functions"), CALLED)
def test_a_node_calls_functions_by_op_or_attribute(name, functions):
    assert list(functions_of(graph(CALLS)[name])) == functions.split()


def test_functions_are_followed_and_recursion_terminates():
    g = graph(CALLS)
    assert set(called_by([g["a"]])) == {"f", "g"}
    assert set(called_by([g["b"]])) == {"g", "h"}
    assert called_by([g["x"]]) == {}


@pytest.mark.parametrize("name", NAMES)
def test_every_function_used_in_a_recorded_graph_exists(name):
    program = shared(name).graph
    for body in (program, *program.library.functions.values()):
        for node in body:
            assert set(functions_of(node)) <= set(program.library.functions)


def test_a_deep_graph_is_traversed_without_recursion():
    g = Graph(OPS)
    node = g.add("Const")
    for _ in range(20_000):
        node = g.add("Neg", [node.output(0)], name="n")
    assert len(needed_by([node])) == len(in_order(g)) == 20_001
