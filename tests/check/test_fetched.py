"""What is checked instead of signatures: fetched or guessed outputs."""

import pytest
from tests.recorded_models import graph, load

import tfport
from tfport.graph.build import graph_to_def

FORWARD = """
x = Placeholder() {dtype=float32, shape=(?, 4)}
w = VariableV2() {dtype=float32, shape=(4, 3)}
w/read = Identity(w) {T=float32}
y = MatMul(x, w/read) {T=float32}
"""
BACKWARD = """
loss = L2Loss(y) {T=float32}
gradients/y_grad/a = PyFunc(loss) {Tin=[float32], Tout=[float32], token="t"}
gradients/y_grad/b = %s
step = AssignSub(w, gradients/y_grad/b) {T=float32}
"""
INITIALIZED = """
init = Const() {dtype=float32, value=float32(4, 3)[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}
assign = Assign(w, init) {T=float32}
"""
CUSTOM = "AcmeGradient(gradients/y_grad/a)"
NO_KERNEL = 'NcclAllReduce(gradients/y_grad/a) {T=float32, num_devices=1, reduction="sum", shared_name="s"}'


def checked(gradient, on, text=FORWARD + BACKWARD, **options):
    text %= gradient
    model = tfport.load(graph_to_def(graph(text)).SerializeToString())
    return tfport.check(model, on=on, device=None if on == "tfport" else "cpu", **options)


def checked_initialized(**options):
    """Our runtime refuses to read a variable that nothing set, so what reads it sets it first."""
    text = FORWARD.replace("Identity(w)", "Identity(w, ^assign)") + INITIALIZED + BACKWARD
    return checked(CUSTOM, "tfport", text, **options)


def test_training_does_not_stop_inference_in_our_runtime():
    report = checked_initialized()
    assert report.verdict == "runs"
    assert {(f.op, f.severity) for f in report.findings} >= {("AcmeGradient", "note"), ("PyFunc", "note")}
    assert report.to_json()["fetched"] == {
        "fetches": ["y:0"],
        "feeds": ["x:0"],
        "guessed": True,
        "needed_nodes": 6,
        "unneeded_nodes": 4,
    }
    assert "no signatures: for `y:0` (a guess; --fetch names other outputs); 4 other" in str(report)
    assert "notes  the outputs do not need these" in str(report)


def test_fetching_a_training_tensor_asks_about_it():
    report = checked_initialized(fetches=["loss"])
    assert report.verdict == "runs"
    report = checked_initialized(fetches=["gradients/y_grad/b:0"])
    assert (report.verdict, report.results[0].stage) == ("fails", "run")
    assert "  for `gradients/y_grad/b:0`" in str(report)


def test_feeding_a_tensor_leaves_out_what_computes_it():
    fetch = {"fetches": ["gradients/y_grad/b"]}
    stopped = {f.op for f in checked_initialized(**fetch).findings if f.severity == "error"}
    assert stopped == {"PyFunc", "AcmeGradient"}
    report = checked_initialized(feeds=["gradients/y_grad/a"], **fetch)
    assert {f.op for f in report.findings if f.severity == "error"} == {"AcmeGradient"}


@pytest.mark.parametrize("release", ["1.15.5", "2.21.0"])
def test_an_unregistered_op_of_training_stops_the_import(release):
    report = checked(CUSTOM, f"tensorflow=={release}", loader="python", fetches=["y"])
    assert (report.verdict, report.results[0].stage) == ("fails", "load")
    (finding,) = (f for f in report.findings if f.op == "AcmeGradient")
    command = f"`tfport fix MODEL --for tensorflow=={release} --fetch y:0 -o OUT`"
    assert finding.ways_out[0] == f"the outputs do not need this: {command} writes the graph without it"


@pytest.mark.parametrize("release", ["1.15.5", "2.21.0"])
def test_a_missing_kernel_of_training_stops_a_session_that_places_everything(release):
    report = checked(NO_KERNEL, f"tensorflow=={release}", loader="python")
    assert (report.verdict, report.results[0].stage) == ("fails", "run")
    (finding,) = (f for f in report.findings if f.op == "NcclAllReduce")
    assert any("place_pruned_graph=True" in way for way in finding.ways_out)


def test_a_model_with_signatures_is_asked_about_tensors_too():
    report = tfport.check(load("module"), on="tensorflow==2.21.0", fetches=["saver_filename"])
    assert report.signatures == [""]
    assert report.verdict == "runs"


def test_signatures_and_fetches_exclude_each_other():
    with pytest.raises(tfport.Error, match="exclude each other"):
        tfport.check(load("module"), on="tensorflow==2.8.4", signatures=["back"], fetches=["saver_filename"])
