"""Runs that compute the same, through nodes and functions with other names."""

import pytest
from tests.recorded_models import graph

from tfport.graph.same_work import FedRun, same_work

WRAPPED = """
def inner(x: float32, v: resource) -> (y: float32):
  read = ReadVariableOp(v) {dtype=float32}
  sum = AddV2(x, read) {T=float32}
  return y=sum

def first(x: float32, v: resource) -> (y: float32):
  called = StatefulPartitionedCall(x, v) {Tin=[float32, resource], Tout=[float32], f=@inner}
  result = Identity(called) {T=float32}
  return y=result

def second(a: float32, b: resource) -> (c: float32):
  inside = StatefulPartitionedCall(a, b) {Tin=[float32, resource], Tout=[float32], f=@inner}
  out = Identity(inside) {T=float32}
  return c=out

v = VarHandleOp() {dtype=float32, shape=(2,)}
w = VarHandleOp() {dtype=float32, shape=(2,), shared_name="w"}
x1 = Placeholder() {dtype=float32, shape=(?, 2)}
x2 = Placeholder() {dtype=float32, shape=(?, 2)}
y1 = StatefulPartitionedCall(x1, v) {Tin=[float32, resource], Tout=[float32], f=@first}
y2 = StatefulPartitionedCall(x2, VARIABLE) {Tin=[float32, resource], Tout=[float32], f=@second}
"""


def same(program, first: tuple[str, str], second: tuple[str, str]) -> bool:
    def run(feeds: str, fetches: str) -> FedRun:
        values = [[program.value(name) for name in names.split()] for names in (feeds, fetches)]
        return FedRun(*values)

    answer = same_work(run(*first), run(*second))
    assert same_work(run(*second), run(*first)) == answer
    return answer


def wrapped(old: str = "", new: str = "", variable: str = "v"):
    text = WRAPPED.replace("VARIABLE", variable)
    assert old in text
    head, mark, tail = text.rpartition(old) if old else (text, "", "")
    return graph(head + (new if mark else "") + tail)


def test_signatures_that_call_one_function_through_their_own_wrappers():
    assert same(wrapped(), ("x1", "y1"), ("x2", "y2"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("out = Identity(inside)", "out = Neg(inside)"),
        (
            "x2 = Placeholder() {dtype=float32, shape=(?, 2)}",
            "x2 = Placeholder() {dtype=float32, shape=(?, 3)}",
        ),
        ("c=out", "c=inside"),
        ("f=@second", "f=@inner"),
    ],
)
def test_other_ops_shapes_results_or_functions_are_other_work(old, new):
    assert not same(wrapped(old, new), ("x1", "y1"), ("x2", "y2"))


def test_waiting_for_another_node_is_other_work():
    program = wrapped()
    program["y2"].set_controls([program["w"]])
    assert not same(program, ("x1", "y1"), ("x2", "y2"))


def test_another_variable_is_other_work():
    assert not same(wrapped(variable="w"), ("x1", "y1"), ("x2", "y2"))


def test_a_function_that_is_not_defined_is_other_work():
    program = wrapped()
    del program.library.functions["second"]
    assert not same(program, ("x1", "y1"), ("x2", "y2"))


SHARED = """
a = Placeholder() {dtype=float32, shape=(2,)}
b = Neg(a) {T=float32}
c = Neg(b) {T=float32}
d = Sub(b, c) {T=float32}
e = Sub(c, b) {T=float32}
"""


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        (("a", "c"), ("a", "c"), True),
        (("a", "b"), ("a", "c"), False),
        (("a", "c"), ("b", "c"), False),  # what is fed decides
        (("a", "c"), ("a b", "c"), False),
        (("b c", "d"), ("b c", "d"), True),
        (("b c", "d"), ("c b", "d"), False),  # the order counts
        (("b c", "d"), ("c b", "e"), True),
        (("a", "d"), ("a", "e"), False),
        (("a", "c d"), ("a", "d c"), False),
        (("a", "c"), ("a", "c d"), False),
    ],
)
def test_runs_of_one_graph(first, second, answer):
    assert same(graph(SHARED), first, second) == answer
