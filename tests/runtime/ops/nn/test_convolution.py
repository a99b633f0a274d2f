import itertools

import numpy as np
import pytest
from tests.recorded_models import graph
from tests.runtime.baked import baked
from tests.runtime.cases import bf16, check, checks, numbers

import tfport
from tfport.graph.build import graph_to_def

VANISHING = """
x = Placeholder() {dtype=float32, shape=(?, ?, ?, 16)}
one = Const() {dtype=float32, value=float32()[1.0]}
window = Const() {dtype=int32, value=int32(4)[3, 3, 16, 16]}
point = Const() {dtype=int32, value=int32(4)[1, 1, 16, 16]}
w = Fill(window, one) {T=float32}
p = Fill(point, one) {T=float32}
a = Conv2D(x, w) {T=float32, strides=[1, 2, 2, 1], padding=SAME}
b = MaxPool(a) {T=float32, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding=VALID}
y = Conv2D(b, p) {T=float32, strides=[1, 1, 1, 1], padding=VALID}
"""
HALF, DOUBLE = np.float16, np.float64
SUMS = 1e-5  # absolute tolerance: a sum may be much smaller than its terms


def conv2d(x, w, stride=1, dilation=1, padding="SAME", explicit=(), op="Conv2D", **more):
    """Use one stride and dilation for both axes unless they are pairs."""
    (a, b), (c, d) = (n if isinstance(n, tuple) else (n, n) for n in (stride, dilation))
    attrs = {"strides": [1, a, b, 1], "dilations": [1, c, d, 1], "padding": padding}
    if explicit:
        attrs["explicit_paddings"] = [0, 0, *explicit, 0, 0]
    more.setdefault("atol", SUMS)
    return baked(op, x, w, **attrs, **more)


def depthwise(x, w, stride=1, dilation=1, padding="SAME", explicit=(), **more):
    return conv2d(x, w, stride, dilation, padding, explicit, "DepthwiseConv2dNative", **more)


def conv3d(x, w, strides=(1, 1, 1), dilations=(1, 1, 1), padding="SAME", **more):
    return baked(
        "Conv3D", x, w, strides=[1, *strides, 1], dilations=[1, *dilations, 1], padding=padding, **more
    )


CASES = [
    *(
        conv2d(numbers(2, size, size + 1, 3), numbers(k, k, 3, 4), stride, dilation, padding)
        for size, k, stride, dilation, padding in itertools.product(
            (6, 7), (1, 2, 3), (1, 2, 3), (1, 2), ("SAME", "VALID")
        )
    ),
    conv2d(numbers(1, 9, 8, 2), numbers(2, 3, 2, 3), (3, 1)),
    conv2d(numbers(1, 9, 8, 2), numbers(3, 1, 2, 3), (1, 4), (2, 1)),
    conv2d(numbers(1, 9, 8, 2), numbers(1, 1, 2, 3), (5, 4)),
    conv2d(numbers(1, 9, 9, 2), numbers(2, 2, 2, 3), (5, 4)),
    conv2d(numbers(1, 5, 5, 2), numbers(3, 3, 2, 3), 1, 1, "EXPLICIT", (1, 0, 2, 3)),
    conv2d(numbers(1, 5, 5, 2), numbers(3, 3, 2, 3), 2, 2, "EXPLICIT", (4, 1, 0, 2)),
    conv2d(numbers(1, 5, 5, 2), numbers(3, 3, 2, 3), 1, 1, "EXPLICIT", (-1, 0, 2, 3), fails=True),
    conv2d(numbers(1, 5, 5, 6), numbers(3, 3, 2, 9)),
    conv2d(numbers(1, 5, 5, 6), numbers(3, 3, 3, 4), 2, 1, "VALID"),
    conv2d(numbers(1, 5, 5, 6), numbers(3, 3, 1, 6)),
    conv2d(numbers(1, 5, 5, 6), numbers(3, 3, 4, 6), fails=True),
    conv2d(numbers(1, 5, 5, 6), numbers(3, 3, 2, 4), fails=True),
    # empty results use float64: TensorFlow's float32 kernels (oneDNN) return the shape of the input
    conv2d(numbers(0, 5, 5, 2, kind=DOUBLE), numbers(3, 3, 2, 4, kind=DOUBLE)),
    conv2d(numbers(2, 0, 5, 2, kind=DOUBLE), numbers(3, 3, 2, 4, kind=DOUBLE)),
    conv2d(numbers(2, 2, 5, 2, kind=DOUBLE), numbers(3, 3, 2, 4, kind=DOUBLE), padding="VALID"),
    conv2d(numbers(2, 1, 5, 2), numbers(3, 3, 2, 4), padding="VALID", fails=True),
    conv2d(numbers(2, 1, 5, 2, kind=DOUBLE), numbers(3, 3, 2, 4, kind=DOUBLE), stride=3, padding="VALID"),
    conv2d(numbers(2, 5, 5, 2), numbers(3, 3, 2, 0), fails=True),
    conv2d(numbers(2, 4, 4, 2, kind=DOUBLE), numbers(3, 3, 2, 2, kind=DOUBLE)),
    conv2d(numbers(2, 4, 4, 2, kind=HALF), numbers(3, 3, 2, 2, kind=HALF), atol=2e-3),
    conv2d(bf16(*numbers(2, 4, 4, 2)), bf16(*numbers(3, 3, 2, 2)), atol=2e-2),
    conv2d(
        numbers(2, 4, 4, 2, kind=np.int32, low=-9, high=9), numbers(3, 3, 2, 2, kind=np.int32, low=-9, high=9)
    ),
    conv2d(np.full((1, 3, 3, 1), 2**30, np.int32), numbers(3, 3, 1, 1, kind=np.int32, low=1, high=9)),
    conv2d(np.array([np.nan, 1, np.inf, 2], np.float32).reshape(1, 4, 1, 1), numbers(3, 1, 1, 1)),
    baked(
        "Conv2D",
        numbers(1, 3, 6, 7),
        numbers(3, 3, 3, 4),
        strides=[1, 1, 2, 2],
        padding="SAME",
        data_format="NCHW",
    ),
    baked(
        "Conv2D", numbers(1, 6, 7, 3), numbers(3, 3, 3, 4), strides=[1, 1, 1, 2], padding="SAME", fails=True
    ),
    baked(
        "Conv2D", numbers(1, 6, 7, 3), numbers(3, 3, 3, 4), strides=[2, 1, 1, 1], padding="SAME", fails=True
    ),
    baked("Conv2D", numbers(6, 7, 3), numbers(3, 3, 3, 4), strides=[1, 1, 1, 1], padding="SAME", fails=True),
    *(
        depthwise(numbers(2, size, size + 1, 3), numbers(k, k, 3, m), stride, 1, padding)
        for size, k, stride, m, padding in itertools.product(
            (6, 7), (2, 3), (1, 2), (1, 2), ("SAME", "VALID")
        )
    ),
    depthwise(numbers(1, 7, 7, 2), numbers(3, 3, 2, 1), 1, 2),
    depthwise(numbers(1, 7, 7, 2), numbers(3, 3, 2, 1), 1, 2, "VALID"),
    depthwise(numbers(1, 5, 5, 2), numbers(3, 3, 2, 3), 1, 1, "EXPLICIT", (1, 0, 2, 3)),
    depthwise(numbers(1, 5, 5, 2), numbers(3, 3, 3, 3), fails=True),
    depthwise(numbers(0, 5, 5, 2, kind=DOUBLE), numbers(3, 3, 2, 3, kind=DOUBLE)),
    depthwise(numbers(1, 4, 4, 2, kind=DOUBLE), numbers(3, 3, 2, 1, kind=DOUBLE)),
    depthwise(numbers(1, 4, 4, 2, kind=HALF), numbers(3, 3, 2, 2, kind=HALF), atol=4e-3),
    depthwise(bf16(*numbers(1, 4, 4, 2)), bf16(*numbers(3, 3, 2, 2)), atol=5e-2),
    *(
        conv3d(numbers(1, 5, 6, 7, 2), numbers(2, 3, 1, 2, 3), strides, dilations, padding)
        for strides, dilations, padding in itertools.product(
            ((1, 1, 1), (2, 2, 2), (1, 2, 3)), ((1, 1, 1), (1, 2, 1)), ("SAME", "VALID")
        )
    ),
    conv3d(numbers(1, 3, 3, 3, 2, kind=DOUBLE), numbers(2, 2, 2, 2, 1, kind=DOUBLE)),
    conv3d(numbers(1, 3, 3, 3, 2, kind=HALF), numbers(2, 2, 2, 2, 1, kind=HALF), atol=4e-3),
    conv3d(numbers(1, 3, 3, 3, 4), numbers(2, 2, 2, 3, 2), fails=True),
    baked(
        "Conv3D",
        numbers(1, 2, 3, 4, 5),
        numbers(2, 2, 2, 2, 3),
        strides=[1, 1, 1, 1, 1],
        padding="SAME",
        data_format="NCDHW",
    ),
    baked("Conv", numbers(2, 5, 6, 3), numbers(3, 3, 3, 4), strides=[1, 2, 2, 1], padding="SAME"),
    baked(
        "Conv",
        numbers(2, 5, 6, 3),
        numbers(3, 3, 3, 4),
        strides=[1, 1, 1, 1],
        padding="VALID",
        dilations=[1, 2, 1, 1],
    ),
    baked(
        "Conv",
        numbers(2, 2, 5, 6, 3),
        numbers(3, 3, 3, 4),
        strides=[1, 2, 2, 1],
        padding="SAME",
        batch_dims=2,
    ),
    baked(
        "Conv",
        numbers(2, 4, 5, 6, 3),
        numbers(2, 3, 3, 3, 4),
        strides=[1, 2, 2, 1, 1],
        padding="SAME",
        atol=SUMS,
    ),
    baked(
        "Conv",
        numbers(2, 5, 6, 3),
        numbers(3, 3, 3, 4),
        strides=[1, 1, 1, 1],
        padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 0, 0, 2, 0, 0],
    ),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_convolutions(c, ways):
    check("convolution", c, ways)


def test_an_image_smaller_than_the_windows_does_not_crash_the_process():
    session = tfport.Session(tfport.load(graph_to_def(graph(VANISHING)).SerializeToString()))
    try:
        output = session.run("y:0", {"x:0": numbers(1, 1, 1, 16)})
    except tfport.RunFailed:
        return
    assert output.size == 0
