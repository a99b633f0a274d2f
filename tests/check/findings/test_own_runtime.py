"""tfport's own runtime is a target like any other."""

import pytest
from tests.recorded_models import graph, of_kind, shared

import tfport
from tfport.graph.build import graph_to_def


def check(text):
    return tfport.check(graph_to_def(graph(text)).SerializeToString(), on="tfport")


def test_ops_without_a_kernel_are_findings_with_their_nodes():
    report = check("""
        x = Placeholder() {dtype=float32, shape=(2,)}
        a = NcclAllReduce(x) {T=float32, reduction="sum", num_devices=1, shared_name="s"}
        b = NcclAllReduce(a) {T=float32, reduction="sum", num_devices=1, shared_name="s"}
    """)
    assert report.verdict == "fails"
    assert [(f.code, f.op, len(f.nodes)) for f in report.findings] == [("TFP601", "NcclAllReduce", 2)]
    assert report.findings[0].says() is None


def test_types_without_a_kernel_are_findings():
    report = check("""
        x = Placeholder() {dtype=qint8, shape=(1, 1, 2, 2, 4)}
        y = DepthToSpace(x) {T=qint8, block_size=2, data_format="NCHW_VECT_C"}
    """)
    (finding,) = report.findings
    assert (finding.code, finding.message) == (
        "TFP602",
        "tfport has no kernel for op `DepthToSpace` with data_format='NCHW_VECT_C'",
    )


BELOW = [  # op with an attribute below its minimum
    "y = DepthToSpace(x) {T=float32, block_size=0}",
    "y = DepthToSpace(x) {T=float32, block_size=1}",
    "y = SpaceToDepth(x) {T=float32, block_size=0}",
    "y = Unpack(x) {T=float32, num=-1, axis=0}",
]


@pytest.mark.parametrize("node", BELOW)
def test_attribute_minimums_are_checked(node):
    report = check(f"x = Placeholder() {{dtype=float32, shape=(1, 2, 2, 4)}}\n{node}")
    assert (report.verdict, [finding.code for finding in report.findings]) == ("fails", ["TFP205"])


@pytest.mark.parametrize("name", of_kind("saved_model"))
def test_its_verdict_is_what_a_session_does(name):
    """A session plans exactly what `check` predicts; nothing is run."""
    model = shared(name)
    verdict = tfport.check(model, on="tfport").verdict
    try:
        session = tfport.Session(model)
        for signature in model.signatures.values():
            fetches = [tensor for spec in signature.outputs.values() for tensor in spec.tensors]
            session.program(
                fetches, [tensor for spec in signature.inputs.values() for tensor in spec.tensors]
            )
        planned = "runs"
    except tfport.CannotRun:
        planned = "fails"
    assert verdict == planned
