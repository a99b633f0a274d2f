"""Functions that XLA must compile; `tests/truth` (cases `compiled_*`) has what TensorFlow does with them."""

import itertools

import pytest
from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def

COMPILED, KERNEL, DEVICE = "TFP317", "TFP302", "TFP303"
X = "x = Placeholder() {dtype=float32, shape=(2, 2)}\n"
CALL = "y = StatefulPartitionedCall(x) {f=@body, Tin=[float32], Tout=[float32], _XlaMustCompile=true}\n"
BODY = "def body(x: float32) -> (y: float32):\n"


def checked(nodes, on="tensorflow==2.21.0", loader="capi", call=CALL, **options):
    lines = "".join(f"  {line}\n" for line in nodes.split("|"))
    text = f"{X}{call}{BODY}{lines}"
    return tfport.check(graph_to_def(graph(text)).SerializeToString(), on=on, loader=loader, **options)


def compiled(report):
    return [finding for finding in report.findings if finding.code == COMPILED]


def test_all_nodes_that_cannot_be_compiled_are_found():
    nodes = "a = AsString(x) {T=float32}|b = StringLength(a)|c = Cast(b) {SrcT=int32, DstT=float32}"
    report = checked(f"{nodes}|m = Spence(c) {{T=float32}}|return y=m")
    assert report.verdict == "fails"
    assert {f.stage for f in compiled(report)} == {"run"}
    assert {f.op for f in compiled(report)} == {"AsString", "StringLength", "Spence"}
    (spence,) = [f for f in compiled(report) if f.op == "Spence"]
    assert "has no kernel for op `Spence`" in spence.message
    assert "compile graph body[] on XLA_CPU_JIT: Spence (No registered 'Spence' OpKernel" in spence.says()
    assert spence.function == "body"
    assert spence.node == "m"


def test_types_decide():
    nodes = "a = Cast(x) {SrcT=float32, DstT=$}|k = Const() {dtype=int32, value=int32()[1]}"
    nodes += "|t = TopKV2(a, k) {T=$}|m = Cast(t) {SrcT=$, DstT=float32}|return y=m"
    assert checked(nodes.replace("$", "int64")).verdict == "runs"
    (finding,) = compiled(checked(nodes.replace("$", "uint16")))
    assert "op `TopKV2` with T=uint16" in finding.message


def test_a_call_that_does_not_ask_for_it_is_not_compiled():
    nodes = "m = Spence(x) {T=float32}|return y=m"
    assert checked(nodes, call=CALL.replace("=true", "=false")).verdict == "runs"
    assert checked(nodes).verdict == "fails"


def test_strings_cannot_be_passed():
    text = """
      x = Placeholder() {dtype=string, shape=(1,)}
      y = StatefulPartitionedCall(x) {f=@body, Tin=[string], Tout=[string], _XlaMustCompile=true}
      def body(x: string) -> (y: string):
        m = StringLower(x)
        return y=m
    """
    report = tfport.check(
        graph_to_def(graph(text)).SerializeToString(), on="tensorflow==2.21.0", loader="capi"
    )
    messages = [f.message for f in compiled(report)]
    assert any("arguments with T=string" in message for message in messages)
    assert any("results with T=string" in message for message in messages)


def test_kernels_and_devices_of_compiled_nodes_do_not_matter():
    nodes = 'n = Neg(x) {T=float32} @"/device:GPU:0"|m = Exp(n) {T=float32}|return y=m'
    assert checked(nodes).verdict == "runs"
    plain = checked(nodes, call=CALL.replace(", _XlaMustCompile=true", ""))
    assert [f.code for f in plain.findings] == [DEVICE]


@pytest.mark.parametrize(
    ("nodes", "capi", "python"),
    [
        ("s = AsString(x) {T=float32}|m = Neg(x) {T=float32}|return y=m", "runs", "fails"),
        (
            "c = Const() {dtype=float32, value=float32()[2]}|s = Spence(c) {T=float32}"
            "|m = Mul(x, s) {T=float32}|return y=m",
            "unknown",
            "unknown",
        ),
        (
            "h = Shape(x) {T=float32, out_type=int32}|s = AsString(h) {T=int32}|l = StringLength(s)"
            "|m = Cast(l) {SrcT=int32, DstT=float32}|return y=m",
            "unknown",
            "unknown",
        ),
    ],
)
def test_what_is_removed_or_computed_before_it_compiles(nodes, capi, python):
    assert checked(nodes).verdict == capi
    assert checked(nodes, loader="python").verdict == python


def test_a_release_whose_compiler_was_not_recorded_is_in_doubt():
    report = checked("m = Spence(x) {T=float32}|return y=m", on="tensorflow==2.6.5")
    assert report.verdict == "unknown"
    assert "was not recorded" in compiled(report)[0].doubt
    assert checked("m = Exp(x) {T=float32}|return y=m", on="tensorflow==2.6.5").verdict == "runs"


def test_tfport_itself_compiles_nothing():
    assert not compiled(checked("m = Spence(x) {T=float32}|return y=m", on="tfport", loader=None))


@pytest.mark.parametrize(("first", "verdict"), [("x", "fails"), ("k", "unknown")])
def test_a_node_after_thousands_of_others(first, verdict):
    names = [first, *(f"n{place}" for place in range(3000))]
    chain = "|".join(f"{b} = Neg({a}) {{T=float32}}" for a, b in itertools.pairwise(names))
    constant = "k = Const() {dtype=float32, value=float32(2)[1, 2]}"
    report = checked(f"{constant}|{chain}|m = Spence({names[-1]}) {{T=float32}}|return y=m")
    assert report.verdict == verdict


def test_functions_that_call_each_other_a_thousand_times():
    call = "  y = PartitionedCall(x) {f=@%s, Tin=[float32], Tout=[float32]}\n  return y=y\n"
    bodies = [
        f"def {'body' if place == 0 else f'f{place}'}(x: float32) -> (y: float32):\n" + call % f"f{place + 1}"
        for place in range(1000)
    ]
    last = "def f1000(x: float32) -> (y: float32):\n  m = Spence(x) {T=float32}\n  return y=m\n"
    content = graph_to_def(graph(f"{X}{CALL}{''.join(bodies)}{last}")).SerializeToString()
    (finding,) = compiled(tfport.check(content, on="tensorflow==2.21.0", loader="capi"))
    assert finding.function == "f1000"
