"""A session ignores the devices of nodes that its optimizer inlines or removes."""

import pytest
from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def

MAIN = """
x = Placeholder() {dtype=float32, shape=(2, 2)}
i = Exp(x) {T=float32}
c = StatefulPartitionedCall(i) {f=@outer, Tin=[float32], Tout=[float32]}
y = Identity(c) {T=float32}

def outer(x: float32) -> (r: float32):
  c = StatefulPartitionedCall(x) {f=@body, Tin=[float32], Tout=[float32]}
  return r=c

def body(x: float32) -> (r: float32):
  a = Exp(x) {T=float32}
  NODES
  return r=y
"""
GPU = '@"/device:GPU:0"'


@pytest.mark.parametrize(
    ("nodes", "verdict"),
    [
        (f"p = Identity(a) {{T=float32}} {GPU}|y = Sqrt(p) {{T=float32}}", "runs"),
        (f"p = Sqrt(a) {{T=float32}}|y = Identity(p, ^a) {{T=float32}} {GPU}", "runs"),
        (f"n = NoOp(^a) {GPU}|y = Sqrt(a, ^n) {{T=float32}}", "runs"),
        (f"p = Identity(a) {{T=float32}} {GPU}|y = Mul(p, a) {{T=float32}}", "runs"),
        (
            f"p = Identity(a) {{T=float32}} {GPU}|q = Exp(p) {{T=float32}}|y = Mul(p, q) {{T=float32}}",
            "fails",
        ),
        (f"p = Sqrt(a) {{T=float32}}|y = Softmax(p) {{T=float32}} {GPU}", "fails"),
        (f"p = StopGradient(a) {{T=float32}} {GPU}|y = Sqrt(p) {{T=float32}}", "fails"),
    ],
)
@pytest.mark.parametrize("loader", ["serving", "capi"])
@pytest.mark.parametrize("release", ["1.15.5", "2.3.4", "2.21.0"])
def test_an_identity_that_passes_a_value_on_may_ask_for_any_device(nodes, verdict, loader, release):
    text = MAIN.replace("NODES", nodes.replace("|", "\n  "))
    report = tfport.check(
        graph_to_def(graph(text)).SerializeToString(), on=f"tensorflow=={release}", loader=loader
    )
    codes = [finding.code for finding in report.findings if finding.stage]
    assert (report.verdict, codes) == (verdict, ["TFP303"] if verdict == "fails" else [])
