"""A GraphDef has no weights: what its outputs need is named, with the checkpoint beside it."""

import numpy as np
import pytest
from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def

READ = """
v = VariableV2() {dtype=float32, shape=(2,), container="", shared_name=""}
y = Neg(v) {T=float32}
"""
ASSIGNED = """
v = VarHandleOp() {dtype=float32, shape=(), container="", shared_name="v"}
c = Const() {dtype=float32, value=float32()[1]}
a = AssignVariableOp(v, c) {dtype=float32}
y = ReadVariableOp(v, ^a) {dtype=float32}
"""
FREE = """
c = Const() {dtype=float32, value=float32()[1]}
y = Neg(c) {T=float32}
"""


@pytest.mark.parametrize(("text", "verdict"), [(READ, "fails"), (ASSIGNED, "runs"), (FREE, "runs")])
@pytest.mark.parametrize("loader", ["python", "capi", "serving"])
def test_a_graph_whose_weights_are_elsewhere_fails_when_it_runs(text, verdict, loader):
    model = graph_to_def(graph(text)).SerializeToString()
    report = tfport.check(model, on="tensorflow==2.21.0", loader=loader, fetches=["y:0"])
    stages = [(finding.code, finding.stage) for finding in report.findings]
    assert (report.verdict, stages) == (verdict, [("TFP037", "run")] if verdict == "fails" else [])


@pytest.mark.parametrize("feeds", [{}, {"v:0": np.ones(2, np.float32)}])
@pytest.mark.parametrize("text", [READ, ASSIGNED, FREE])
def test_our_runtime_does_with_such_a_graph_what_check_predicts(text, feeds):
    model = graph_to_def(graph(text)).SerializeToString()
    feeds = feeds if text is READ else {}
    report = tfport.check(model, on="tfport", fetches=["y:0"], feeds=list(feeds))
    if report.verdict == "runs":
        assert tfport.Session(tfport.load(model)).run(["y:0"], feeds)
        return
    assert [(finding.code, finding.stage) for finding in report.findings] == [("TFP037", "run")]
    with pytest.raises(tfport.Error, match="`v`"):
        tfport.Session(tfport.load(model)).run(["y:0"], feeds)


@pytest.mark.parametrize(
    ("files", "fix"),
    [
        (["model.ckpt-1.meta", "model.ckpt-1.index"], "tfport check {folder}/model.ckpt-1.meta"),
        (["model.ckpt-1.index"], "restore the checkpoint {folder}/model.ckpt-1 before running"),
        ([], "restore its checkpoint"),
    ],
)
def test_the_checkpoint_beside_the_graph_is_named(tmp_path, files, fix):
    for name in files:
        (tmp_path / name).touch()
    (tmp_path / "graph.pb").write_bytes(graph_to_def(graph(READ)).SerializeToString())
    report = tfport.check(tmp_path / "graph.pb", on="tensorflow==2.21.0", loader="python", fetches=["y:0"])
    (finding,) = report.findings
    assert finding.message == "the outputs need 1 variables, such as `v`, but a GraphDef has no weights"
    assert finding.fixes()[0].startswith(fix.format(folder=tmp_path))


LOOP = """
x = Placeholder() {dtype=float32, shape=()}
v = VarHandleOp() {dtype=float32, shape=(), container="", shared_name="v"}
$c = While(x, v) {T=[float32, resource], cond=@cond, body=@body, output_shapes=[(), ()]}
y = Neg(c) {T=float32}
def cond(x: float32, v: resource) -> (y: bool):
  k = Const() {dtype=float32, value=float32()[3]}
  l = Less(x, k) {T=float32}
  return y=l
def body(x: float32, v: resource) -> (y: float32, w: resource):
  r = ReadVariableOp(v) {dtype=float32}
  a = AddV2(x, r) {T=float32}
  return y=a, w=v
"""
SET_IN_LOOP = LOOP.replace("  r = Read", "  s = AssignVariableOp(v, x) {dtype=float32}\n  r = Read")
READ_BEFORE = "r = ReadVariableOp(v) {dtype=float32}\nx2 = AddV2(x, r) {T=float32}\n"


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (LOOP.replace("$", READ_BEFORE).replace("While(x,", "While(x2,"), "fails"),
        (SET_IN_LOOP.replace("$", READ_BEFORE).replace("While(x,", "While(x2,"), "runs"),
        (LOOP.replace("$", ""), "runs"),  # the loop may not be entered
    ],
)
def test_a_variable_that_a_loop_only_reads_is_not_set_by_it(text, verdict):
    model = graph_to_def(graph(text)).SerializeToString()
    report = tfport.check(model, on="tensorflow==2.21.0", loader="capi", fetches=["y:0"], feeds=["x:0"])
    assert report.verdict == verdict
