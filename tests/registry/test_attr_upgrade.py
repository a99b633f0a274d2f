"""Nodes with the attributes of an older definition: tfport accepts them, TensorFlow does not."""

import pytest
from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def

AS_TENSORFLOW_JS_WRITES_IT = """
x = Placeholder() {dtype=float32, shape=(1, 4, 4, 2)}
f = Placeholder() {dtype=float32, shape=(3, 3, 2, 4)}
b = Placeholder() {dtype=float32, shape=(4,)}
y = _FusedConv2D(x, f, b) {T=float32, num_args=1, strides=[1, 1, 1, 1], padding=SAME, fused_ops=[BiasAdd]}
"""


@pytest.mark.parametrize(
    ("target", "verdict", "codes"),
    [
        ("tfport", "runs", set()),
        ("tensorflow==1.15.5", "runs", set()),
        ("tensorflow==2.21.0", "fails", {"TFP202"}),
    ],
)
def test_a_fused_convolution_without_the_types_of_its_arguments(target, verdict, codes):
    data = graph_to_def(graph(AS_TENSORFLOW_JS_WRITES_IT)).SerializeToString()
    report = tfport.check(tfport.load(data), on=target)
    assert report.verdict == verdict
    assert {finding.code for finding in report.findings} == codes
