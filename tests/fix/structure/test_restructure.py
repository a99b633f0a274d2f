"""Whole programs in the form that a target supports, depending on the ops it registers."""

import numpy as np
import pytest
from tests.fix.rule_cases import PRODUCER
from tests.recorded_models import graph

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.structure.restructure import Restructuring
from tfport.graph.build import graph_to_def

BRANCH = """
p = Placeholder() {dtype=bool, shape=()}
x = Placeholder() {dtype=float32, shape=(2,)}
s = Switch(x, p) {T=float32}
n = Neg(s:1) {T=float32}
m = Merge(s:0, n) {N=2, T=float32}
y = Identity(m) {T=float32}
"""
KEPT = ("Placeholder", "Identity", "Neg", "If", "StatelessIf", "While", "Const", "NoOp", "PartitionedCall")
HEADER = """#ifndef OPS_TO_REGISTER
#define OPS_TO_REGISTER
constexpr inline bool ShouldRegisterOp(const char op[]) {{
  return false
{ops};
}}
#define SHOULD_REGISTER_OP(op) ShouldRegisterOp(op)
#define SHOULD_REGISTER_OP_KERNEL(clz) true
#define SHOULD_REGISTER_OP_GRADIENT false
#endif
"""


@pytest.fixture
def without_switches(tmp_path):
    """A build that has branches with functions, and none of TF1."""
    header = tmp_path / "ops_to_register.h"
    header.write_text(HEADER.format(ops="\n".join(f'      || isequal(op, "{op}")' for op in KEPT)))
    return resolve_targets(f"{header}@tensorflow==2.8.4")[0]


def restructured(target):
    model, journal = tfport.load(graph_to_def(graph(BRANCH)).SerializeToString()), Journal()
    change = Restructuring(model, NodeChecker(target, PRODUCER), journal)
    change.run()
    return model, [entry.name for entry in journal.entries], change.reasons


def test_branches_of_tf1_are_raised_where_there_are_none(without_switches):
    model, done, reasons = restructured(without_switches)
    assert (done, reasons) == (["raised"], [])
    assert {"Switch", "Merge"}.isdisjoint(node.op for node in model.graph)
    session = tfport.Session(tfport.load(graph_to_def(model.graph).SerializeToString()))
    for chosen in (True, False):
        x = np.float32([1, -2])
        assert np.array_equal(session.run("y:0", {"p:0": chosen, "x:0": x}), -x if chosen else x)


def test_they_stay_where_they_are_taken():
    assert restructured(resolve_targets("tensorflow==2.8.4")[0])[1:] == ([], [])
