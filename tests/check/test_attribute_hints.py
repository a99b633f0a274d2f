"""Attributes that change nothing are not reported where a release ignores them."""

import pytest
from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def

X = "x = Placeholder() {dtype=float32, shape=(2, 2)}\n"
LIST = """
items = Placeholder() {dtype=variant, shape=()}
at = Placeholder() {dtype=int32, shape=()}
y = TensorListSetItem(items, at, x) {element_dtype=float32, resize_if_index_out_of_bounds=%s}
"""
CASES = [  # a graph, a release whose op lacks an attribute of it, and whether that matters
    (X + "y = MatMul(x, x) {T=float32, grad_a=true, grad_b=true}", "2.8.4", False),
    (X + "v = VarHandleOp() {dtype=float32, shape=(2,), debug_name=w}\ny = ReadVariableOp(v) {dtype=float32}",
     "2.8.4", False),
    (X + LIST % "true", "2.10.0", True),
    (X + LIST % "false", "2.10.0", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "release", "matters"), CASES)
def test_only_attributes_that_change_something_are_reported(text, release, matters):
    model = graph_to_def(graph(text)).SerializeToString()
    report = tfport.check(model, on=f"tensorflow=={release}", fetches=["y"])
    assert any(finding.code == "TFP208" for finding in report.findings) is matters
