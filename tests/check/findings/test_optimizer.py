"""Control inputs that the optimizer of TensorFlow 1.4 turns into data inputs are reported."""

import pytest
from tests.check.findings.waiting_programs import HEAD, PROGRAMS
from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def

CODE = "TFP310"


def content(name):
    return graph_to_def(graph(HEAD + PROGRAMS[name][0])).SerializeToString()


def reported(model, target, loader=None):
    report = tfport.check(model, on=target, loader=loader, fetches=["y:0"])
    return report.verdict, [(f.code, f.stage) for f in report.findings if f.stage]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("loader", ["python", "capi", "serving"])
def test_a_graph_fails_on_1_4_where_it_crashes_there(name, loader):
    expected = ("fails", [(CODE, "run")]) if PROGRAMS[name][1] else ("runs", [])
    assert reported(content(name), "tensorflow==1.4.1", loader) == expected


@pytest.mark.parametrize("target", ["tensorflow==1.3.0", "tensorflow==1.5.1", "tensorflow==2.21.0", "tfport"])
def test_other_releases_keep_control_inputs(target):
    assert reported(content("a constant waits"), target) == ("runs", [])


CYCLE = """
swap = Const() {dtype=int32, value=int32(2,)[1, 0]}
i = Identity(j) {T=float32}
j = Identity(i) {T=float32}
b = Transpose(i, swap) {T=float32, Tperm=int32}
y = Identity(b, ^b) {T=float32}
"""


def test_a_cycle_of_identities_ends():
    model = graph_to_def(graph(CYCLE)).SerializeToString()
    assert CODE not in [code for code, _ in reported(model, "tensorflow==1.4.1")[1]]
