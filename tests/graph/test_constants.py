import numpy as np
import pytest
from tests.graph.test_graph import assert_true_uses
from tests.recorded_models import graph

from tfport.graph.constants import constant, fold
from tfport.graph.text import node_text

CONSTANTS = """
    a = Const() {dtype=int32, value=int32()[2]}
    b = Const() {dtype=int32, value=int32()[3]}
"""


def evaluate(node, inputs):
    """Evaluate some ops."""
    if node.op == "AddV2":
        return [np.asarray(inputs[0] + inputs[1])]
    if node.op == "Unpack":
        return list(inputs[0])
    return None


def folded(text: str):
    g = graph(CONSTANTS + text)
    count = fold(g, evaluate)
    assert_true_uses(g)
    return g, count


def test_a_folded_node_becomes_a_constant_with_the_same_name():
    g, count = folded("""
    c = AddV2(a, b) {T=int32}
    d = AddV2(c, c) {T=int32}
    e = Neg(d) {T=int32}
    """)
    assert count == 2
    assert node_text(g["d"]) == "d = Const() {dtype=int32, value=int32()[10]}"
    assert g["e"].inputs[0].node is g["d"]


def test_several_results_are_several_constants():
    g, count = folded("""
    v = Const() {dtype=int32, value=int32(2,)[7, 8]}
    u = Unpack(v) {num=2, T=int32}
    e = Neg(u:1) {T=int32}
    """)
    assert count == 1
    assert node_text(g["u"]) == "u = IdentityN(u_1, u_2) {T=[int32, int32]}"
    assert constant(g["e"].inputs[0]).numpy() == 8


def test_a_constant_in_a_branch_still_waits_for_it():
    g, count = folded("""
    p = NoOp()
    k = Const(^p) {dtype=int32, value=int32()[1]}
    c = AddV2(a, k) {T=int32}
    """)
    assert count == 1
    assert node_text(g["c"]) == "c = Const(^p) {dtype=int32, value=int32()[3]}"


LEFT = [
    "x = Placeholder()\n    c = AddV2(a, x) {T=int32}",
    "c = AddV2(a, b, ^a) {T=int32}",
    "c = Acme(a, b)",
    "c = Neg(a) {T=int32}",
    "c = RandomUniform(a) {T=int32, dtype=float32}",
    "c = NoOp()",
]


@pytest.mark.parametrize("text", LEFT)
def test_nodes_that_cannot_be_folded_stay(text):
    g, count = folded(f"\n    {text}")
    assert count == 0
    assert g["c"].op != "Const"


def test_constants_are_found():
    g = graph(CONSTANTS + "    x = Placeholder()\n    broken = Const() {value=1}")
    assert constant(g["a"].output(0)).numpy() == 2
    assert constant(g["x"].output(0)) is None
    assert constant(g["broken"].output(0)) is None
