"""Importing a graph infers shapes, and refuses those that do not fit and those that the file contradicts."""

import pytest
from tests.recorded_models import graph

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.shapes import shapes_fit
from tfport.check.loaders import loader_for
from tfport.check.refused_shapes import refused_shapes
from tfport.check.release_quirks import since
from tfport.graph.build import graph_to_def
from tfport.graph.op_facts.compared import COMPARED
from tfport.graph.op_facts.rule import CHANGED_IN

X = "x = Placeholder() {dtype=float32, shape=(2, 3)}\n"
BATCH_NORM = """
g = Placeholder() {dtype=float32, shape=(2, 4, 4, 3)}
s = Placeholder() {dtype=float32, shape=(3,)}
y = FusedBatchNormGrad(g, g, s, s, s) {T=float32, is_training=false, _output_shapes=SHAPES}
""".replace("SHAPES", "[(2, 4, 4, 3), (3,), (3,), (3,), (3,)]")


def checked(text: str, release: str, loader: str = "python"):
    return tfport.check(
        graph_to_def(graph(text)).SerializeToString(), on=f"tensorflow=={release}", loader=loader
    )


@pytest.mark.parametrize(
    ("release", "loader", "verdict"),
    [
        ("1.15.5", "python", "runs"),
        ("2.1.4", "python", "runs"),
        ("2.2.3", "python", "fails"),
        ("2.21.0", "python", "fails"),
        ("2.21.0", "capi", "fails"),
        ("2.21.0", "serving", "runs"),
    ],
)
def test_shapes_of_an_older_release_are_refused_where_the_shape_function_changed(release, loader, verdict):
    report = checked(BATCH_NORM, release, loader)
    assert report.verdict == verdict
    if verdict == "fails":
        (finding,) = [f for f in report.findings if f.stage]
        assert (finding.code, finding.node, finding.stage) == ("TFP210", "y", "load")
        assert finding.message == (
            f"`_output_shapes` of node `y` says [3] for output 3; tensorflow {release} infers [0]"
        )
        assert "changed in 2.2" in finding.cause()
        assert "_output_shapes" in finding.fixes()[0]


def test_shapes_that_fit_are_accepted():
    assert checked(f"{X}y = Neg(x) {{T=float32, _output_shapes=[(?, 3)]}}", "2.21.0").verdict == "runs"


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ("y = MatMul(x, x) {T=float32}", "Dimensions must be equal, but are 3 and 2"),
        ("y = Pack(x, c) {T=float32, N=2, axis=0}", "Shapes must be equal rank, but are 2 and 1"),
        ("y = AddV2(x, c) {T=float32}", "Dimensions must be equal, but are 3 and 2"),
        ("y = BiasAdd(x, c) {T=float32}", "Dimensions must be equal, but are 3 and 2"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(nodes, says):
    constant = "c = Const() {dtype=float32, value=float32(2,)[1, 2]}\n"
    report = checked(X + constant + nodes, "2.21.0")
    (finding,) = [f for f in report.findings if f.stage]
    assert (report.verdict, finding.code, finding.stage) == ("fails", "TFP211", "load")
    assert finding.says().startswith(says)


CONV = """
k = Const() {dtype=float32, value=float32(1, 1, 3, 1)[1, 2, 3], _output_shapes=[(1, 1, 3, 1)]}
y = Conv2D(x, k) {T=float32, strides=[1, 2, 2, 1], padding="SAME", _output_shapes=[(?, 4, 4, 1)]}
"""
IMAGE = "x = Placeholder() {dtype=float32, shape=(?, 8, 8, 3), _output_shapes=[(?, 8, 8, 3)]}"


@pytest.mark.parametrize(
    ("source", "because"),
    [
        (IMAGE.replace(", _output_shapes=[(?, 8, 8, 3)]", ""), "has no `_output_shapes`"),
        (IMAGE.replace("shape=(?", "shape=(2", 1), "has a different shape than its own `_output_shapes`"),
    ],
)
def test_shapes_after_an_edit_that_tfport_cannot_infer_are_unknown(source, because):
    report = checked(source + CONV, "2.21.0")
    (finding,) = [f for f in report.findings if f.stage]
    assert (report.verdict, finding.code, finding.node, finding.stage) == ("unknown", "TFP212", "y", "load")
    assert finding.message == (
        "`_output_shapes` of node `y` says [?,4,4,1] for output 0; tensorflow 2.21.0 may infer another shape"
    )
    assert finding.cause() == f"node `x` (Placeholder) before it {because}"
    assert checked(source + CONV, "2.21.0", "serving").verdict == "runs"


@pytest.mark.parametrize(
    "text",
    [
        IMAGE + CONV,  # as it was written
        IMAGE.replace(", _output_shapes=[(?, 8, 8, 3)]", "")
        + CONV.replace(", _output_shapes=[(?, 4, 4, 1)]", ""),
        IMAGE.replace("shape=(?", "shape=(2", 1)
        + "\ny = Neg(x) {T=float32, _output_shapes=[(?, 8, 8, 3)]}",  # tfport knows all of the shape
        IMAGE.replace("shape=(?", "shape=(2", 1)
        + "\nr = Reshape(x, s) {T=float32, Tshape=int32, _output_shapes=[(2, 192)]}"
        + "\ns = Const() {dtype=int32, value=int32(2,)[2, 192], _output_shapes=[(2,)]}"
        + "\ny = Softsign(r) {T=float32, _output_shapes=[(2, 192)]}",  # nothing of the edit is left
    ],
)
def test_shapes_are_decided_where_nothing_was_edited_or_tfport_infers_them(text):
    assert checked(text, "2.21.0").verdict == "runs"


def test_a_call_passes_its_shapes_to_the_function():
    text = """
y = StatefulPartitionedCall(x) {f=@body, Tin=[float32], Tout=[float32]}

def body(a: float32) -> (r: float32):
  m = MatMul(a, a) {T=float32}
  return r=m
"""
    assert checked(X + text, "2.21.0", "capi").verdict == "fails"


@pytest.mark.parametrize("op", COMPARED)
@pytest.mark.parametrize("shape", ["(...)", "()", "(2, 3)"])
def test_missing_inputs_are_left_to_other_findings(op, shape):
    made = graph(f"x = Placeholder() {{dtype=float32, shape={shape}}}\ny = Identity(x) {{T=float32}}")
    made["y"].become(op, {})
    for inputs in ([], [made["x"].output(0)], [made["x"].output(0)] * 2, [made["x"].output(0)] * 7):
        made["y"].set_inputs(inputs)
        for changes in (frozenset(), frozenset(r for changed in CHANGED_IN.values() for r in changed)):
            assert all(refused.output is None for refused in refused_shapes(made, changes))


def test_shapes_are_inferred_once_for_all_releases_that_infer_alike():
    model = CheckedModel(tfport.load(graph_to_def(graph(BATCH_NORM)).SerializeToString()))
    targets = resolve_targets("tensorflow>=1.4,<2.22", device="cpu")
    findings = [list(shapes_fit(model, t, loader_for("capi", model.model, t))) for t in targets]
    assert len({id(shared[0]) for shared in findings if shared}) == 1
    assert sum(map(bool, findings)) == sum(since(t, "2.2") for t in targets) > 20
