"""Branches in the conditions of loops, whose predicates the optimizer of 1.11 to 1.13 confuses."""

import numpy as np
from tests.recorded_models import graph

import tfport
from tfport.fix.structure.adapt_to_release import hide_comparisons
from tfport.graph.build import graph_to_def

LOOP = """
x = Placeholder() {dtype=float32, shape=()}
zero = Const() {dtype=int32, value=int32()[0]}
enter_a = Enter(x) {T=float32, frame_name="loop"}
enter_n = Enter(zero) {T=int32, frame_name="loop"}
a = Merge(enter_a, next_a) {N=2, T=float32}
n = Merge(enter_n, next_n) {N=2, T=int32}
low = Const(^a) {dtype=float32, value=float32()[0.1]}
is_high = Greater(a, low) {T=float32}
here = Identity(is_high) {T=bool}
passed = Switch(n, here) {T=int32}
many = Const(^here) {dtype=int32, value=int32()[3]}
few = Less(passed:1, many) {T=int32}
other = Switch(is_high, here) {T=bool}
both = Merge(other:0, few) {N=2, T=bool}
go = LoopCond(both)
switch_a = Switch(a, go) {T=float32}
switch_n = Switch(n, go) {T=int32}
half = Const(^switch_a) {dtype=float32, value=float32()[0.5]}
one = Const(^switch_n) {dtype=int32, value=int32()[1]}
less_a = Mul(switch_a:1, half) {T=float32}
more_n = Add(switch_n:1, one) {T=int32}
next_a = NextIteration(less_a) {T=float32}
next_n = NextIteration(more_n) {T=int32}
y = Exit(switch_n) {T=int32}
"""


def test_the_predicate_of_a_loop_variable_is_hidden():
    work = graph(LOOP)
    assert hide_comparisons(work) == [("passed", "Switch"), ("other", "Switch")]
    assert work.nodes["passed"].inputs[1].node.op == "LogicalOr"
    assert work.nodes["switch_a"].inputs[1].node.op == "LoopCond"


def test_the_answers_stay_and_only_some_releases_need_it():
    model = graph_to_def(graph(LOOP)).SerializeToString()
    for release, hidden in ("1.13.2", True), ("1.14.0", False):
        fixed = tfport.fix(model, target=f"tensorflow=={release}", fetches=["y"])
        assert fixed.ok
        assert ("hidden comparisons" in [rule.name for rule in fixed.certificate.rules]) is hidden
        session = tfport.Session(fixed.model)
        for x, turns in (8.0, 3), (0.3, 2), (0.05, 0):
            assert session.run(["y:0"], {"x:0": np.float32(x)})[0] == turns
