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
    (found,) = report.findings
    assert (found.code, found.message) == (
        "TFP602",
        "tfport has no kernel for op `DepthToSpace` with data_format='NCHW_VECT_C'",
    )


@pytest.mark.parametrize("name", of_kind("saved_model"))
def test_its_verdict_is_what_a_session_does(name):
    """What `check` says can be planned is planned; nothing is run."""
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
