"""What CPU kernels do not support depends on shapes and fused ops; each line was recorded."""

import pytest
from tests.check.kernel_programs import usage_on
from tests.recorded_models import graph

from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.kernel_limits import kernel_limits
from tfport.graph.dtypes import DType
from tfport.graph.usage import Usage
from tfport.registry.unresolved import Question

X = "x = Placeholder() {dtype=float32, shape=%s}\n"
NORM = (
    "m = Placeholder() {dtype=float32, shape=%s}\n"
    "y = FusedBatchNorm(x, m, m, m, m) {T=float32, is_training=true}"
)
CONV = (
    "y = _FusedConv2D(x, x, x) {T=float32, num_args=1, strides=[1, 1, 1, 1], padding=SAME, "
    "fused_ops=[BiasAdd, %s]}"
)
PRODUCT = "y = _FusedMatMul(x, x, x) {T=float32, num_args=1, fused_ops=[BiasAdd, %s]}"
CASES = [  # graph, the last release that does not support it, the first that does
    (X % "(?, 3, 4)" + "y = Softmax(x) {T=float32}", "1.10.1", "1.11.0"),
    (X % "(?,)" + "y = LogSoftmax(x) {T=float32}", "1.10.1", "1.11.0"),
    (X % "(?, ?)" + "y = Softmax(x) {T=float32}", None, "1.4.1"),
    (X % "(1, 1, 1, 1, 1, 2)" + "y = BiasAdd(x, x) {T=float32}", "2.6.5", "2.7.4"),
    (X % "(1, 2, 3)" + "y = BiasAdd(x, x) {T=float32, data_format=NCHW}", "1.12.3", "1.13.2"),
    (X % "(1, 2, 2, 3)" + NORM % "(3,)", "2.1.4", "2.2.3"),
    (X % "(1, 2, 2, 3)" + NORM % "(0,)", None, "1.4.1"),
    (X % "(1, 2, 2, 3)" + CONV % "Relu6", "1.13.2", "1.14.0"),
    (X % "(1, 2, 2, 3)" + CONV % "LeakyRelu", "2.3.4", "2.4.4"),
    (X % "(1, 2, 2, 3)" + CONV % "Tanh", "2.16.2", None),
    (X % "(1, 2)" + PRODUCT % "LeakyRelu", "2.4.4", "2.5.3"),
    (X % "(1, 2)" + PRODUCT % "Tanh", "2.8.4", "2.9.3"),
]


@pytest.mark.parametrize(
    ("text", "unsupported", "supported"), CASES, ids=[row[0].split("y = ")[1] for row in CASES]
)
def test_a_kernel_does_not_support_it_until_a_release(text, unsupported, supported):
    if unsupported:
        assert [answer.question for answer in kernel_limits(*usage_on(text, unsupported), "CPU")] == [
            Question.KERNEL_LIMIT
        ]
    if supported:
        assert not list(kernel_limits(*usage_on(text, supported), "CPU"))


BFLOAT16 = {  # the question that fails, by release
    "2.5.3": [Question.KERNEL_LIMIT],
    "2.8.4": [Question.KERNEL_LIMIT],
    "2.9.3": [Question.KERNEL_LIMIT_WITHOUT_ONEDNN],
    "2.10.1": [],
    "2.21.0": [],
}


@pytest.mark.parametrize("release", BFLOAT16)
def test_a_registered_kernel_of_bfloat16_has_no_result(release):
    text = 'y = DepthwiseConv2dNative(x, x) {T=bfloat16, strides=[1, 1, 1, 1], padding="SAME"}'
    node = graph(X.replace("float32", "bfloat16") % "(1, 5, 5, 2)" + text).nodes["y"]
    usage = Usage(node, (DType.parse("bfloat16"),) * 2, [node])
    answers = list(kernel_limits(usage, resolve_targets(f"tensorflow=={release}")[0], "CPU"))
    assert [answer.question for answer in answers] == BFLOAT16[release]
    assert {answer.expected.says for answer in answers} <= {"Missing 0-th output from the node"}
