"""Between 1-D convolutions the image stays an image; other readers get what they read before."""

from collections import Counter

import numpy as np
import pytest
from tests.runtime.programs import islands_of, session_of

TAPS = ", ".join(str(n % 5 - 2) for n in range(12))
START = f"""
    x = Placeholder() {{dtype=float32, shape=(?, ?, 2)}}
    axis = Const() {{dtype=int32, value=int32()[1]}}
    filter = Const() {{dtype=float32, value=float32(1, 3, 2, 2)[{TAPS}]}}
    bias = Const() {{dtype=float32, value=float32(2)[3, -1]}}
    image = ExpandDims(x, axis) {{T=float32, Tdim=int32}}
    conv = Conv2D(image, filter) {{T=float32, strides=[1, 1, 1, 1], padding="SAME"}}
    row = Squeeze(conv) {{T=float32, squeeze_dims=[1]}}
"""
AGAIN = """
    image2 = ExpandDims({end}, axis) {{T=float32, Tdim=int32}}
    conv2 = Conv2D(image2, filter) {{T=float32, strides=[1, 1, 1, 1], padding="SAME"}}
    y = Squeeze(conv2) {{T=float32, squeeze_dims=[1]}}
"""
BETWEEN = {
    "bias": "end = BiasAdd(row, bias) {T=float32}",
    "bias and relu": "sum = BiasAdd(row, bias) {T=float32}\n end = Relu(sum) {T=float32}",
    "a constant scale": "end = Mul(bias, row) {T=float32}",
    "two rows": "other = Abs(row) {T=float32}\n end = Sub(row, other) {T=float32}",
    "nothing": "end = Neg(row) {T=float32}",
}
APART = {
    "another tensor": "end = AddV2(row, x) {T=float32}",
    "a softmax": "end = Softmax(row) {T=float32}",
}


def counts(text, *fetches):
    ops = Counter(n.op_type for island in islands_of(text, [*fetches], ["x:0"]) for n in island.graph.node)
    return ops["Unsqueeze"], ops["Squeeze"]


def assert_equal_answers(text, *fetches):
    x = np.random.default_rng(0).integers(-4, 4, (2, 7, 2)).astype(np.float32)
    both = (session_of(text, engine=e).run([*fetches], {"x:0": x}) for e in ("onnxruntime", "none"))
    for answer, right in zip(*both, strict=True):
        np.testing.assert_allclose(answer, right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
def test_the_axis_stays(between):
    text = START + between + AGAIN.format(end="end")
    assert counts(text, "y:0") == (1, 1)
    assert_equal_answers(text, "y:0")


@pytest.mark.parametrize("between", APART.values(), ids=APART)
def test_the_axis_is_removed_for_other_nodes(between):
    text = START + between + AGAIN.format(end="end")
    assert counts(text, "y:0") == (2, 2)
    assert_equal_answers(text, "y:0")


def test_what_is_fetched_has_its_shape():
    text = START + BETWEEN["bias"] + AGAIN.format(end="end")
    assert_equal_answers(text, "y:0", "end:0", "image2:0", "row:0")
