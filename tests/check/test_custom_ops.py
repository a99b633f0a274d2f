"""What `check --on tfport` reports about custom ops; a session raises the same."""

import pytest
from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def

X = "x = Placeholder() {dtype=float32, shape=(2,)}\n"


@pytest.fixture(scope="module")
def registry():
    made = tfport.Registry()
    made.op("Acme>Scale: (x: T) -> y: T; T: {float, double, int32}; by: float = 2; mode: {'a', 'b'} = 'a'")
    made.kernel("Acme>Scale", T=["float", "double"])(lambda x, *, by, mode: x)
    made.op("Acme>Sum: (xs: N*T) -> y: T; N: int >= 1; T: type")
    made.kernel("Acme>Sum")(lambda xs: xs[0])
    made.op("Acme>Bare: (x: float) -> y: float")
    made.op("Acme>OnGpu: (x: float) -> y: float")
    made.kernel("Acme>OnGpu", "gpu")(lambda x: x)
    made.kernel("NcclAllReduce")(lambda input, *, reduction, num_devices, shared_name: input)
    return made


CASES = [  # nodes                                          code       message
    ("y = Acme>Scale(x) {T=float32}", None, ""),
    ('y = NcclAllReduce(x) {T=float32, reduction="sum", num_devices=1, shared_name="s"}', None, ""),
    ("y = Acme>Scale(x) {T=float32, to=1.0}", "TFP201", "op `Acme>Scale` has no attribute `to` in {tfport}"),
    ("y = Acme>Scale(x)", "TFP202", "op `Acme>Scale` needs attribute `T` in {tfport}, but the "
     "node does not have it"),
    ("y = Acme>Scale(x) {T=float32, by=1}", "TFP203",
     "attribute `by` of op `Acme>Scale` is of type int; {tfport} expects float"),
    ("y = Acme>Scale(x) {T=float32, mode=\"c\"}", "TFP204",
     "attribute `mode` of op `Acme>Scale` is 'c'; {tfport} allows 'a', 'b'"),
    ("y = Acme>Sum() {N=0, T=float32}", "TFP205",
     "attribute `N` of op `Acme>Sum` is 0; {tfport} needs at least 1"),
    ("y = Acme>Scale(x, x) {T=float32}", "TFP206",
     "op `Acme>Scale` takes 1 input in {tfport}; the node has 2"),
    ("y = Acme>Scale(x) {T=float64}", "TFP207",
     "input 0 of op `Acme>Scale` is float32; {tfport} expects float64"),
    ("i = Placeholder() {dtype=int32, shape=(2,)}\ny = Acme>Scale(i) {T=int32}", "TFP602",
     "tfport has no kernel for op `Acme>Scale` with T=int32"),
    ("y = Acme>Bare(x)", "TFP603",
     "op `Acme>Bare` is defined by {here}, but has no kernel that tfport can run"),
    ("y = Acme>OnGpu(x)", "TFP603",
     "op `Acme>OnGpu` is defined by {here}, but has no kernel that tfport can run"),
    ("y = Acme>Unknown(x)", "TFP601", "tfport has no kernel for op `Acme>Unknown`"),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "code", "message"), CASES)
def test_a_node_that_does_not_match_is_a_finding_and_an_error_of_a_session(nodes, code, message, registry):
    record = graph_to_def(graph(X + nodes)).SerializeToString()
    report = tfport.check(record, on="tfport", registry=registry)
    session = tfport.Session(record, registry=registry)
    if code is None:
        assert (report.verdict, report.findings) == ("runs", [])
        session.program(["y:0"], ["x:0"])
        return
    finding = report.findings[0]
    here = registry.provider_of(finding.op) or ""
    assert (report.verdict, finding.code) == ("fails", code)
    assert finding.message == message.replace("{tfport}", finding.on.name).replace("{here}", here)
    assert "says:" not in str(report)
    with pytest.raises(tfport.CannotRun):
        session.program(["y:0"], ["x:0"])


def test_the_cause_names_the_types_that_a_kernel_supports(registry):
    record = graph_to_def(graph("i = Placeholder() {dtype=int32, shape=(2,)}\ny = Acme>Scale(i) {T=int32}"))
    (finding,) = tfport.check(record.SerializeToString(), on="tfport", registry=registry).findings
    assert finding.cause() == "its kernels support T=float32, float64"


def test_without_the_registry_the_op_is_unknown(registry):
    record = graph_to_def(graph(X + "y = Acme>Scale(x) {T=float32}")).SerializeToString()
    (finding,) = tfport.check(record, on="tfport").findings
    assert (finding.code, finding.cause()) == (
        "TFP601",
        "a custom op: no recorded release or add-on has it, and it is not registered here",
    )
    assert finding.fixes() == [
        "define it with `tfport.op` in a Python file (`--ops FILE.py`), or replace it with `tfport.stub`",
        "compile its kernel with `tfport lib build`, and pass the library (`--library FILE.so`)",
    ]
