import itertools

import numpy as np
import pytest
from tests.runtime.baked import baked
from tests.runtime.cases import bf16, case, check, checks, i32, i64, numbers, run

DOUBLE, HALF = np.float64, np.float16
SUMS = 1e-5  # absolute tolerance: a sum may be much smaller than its terms


def count(size, k, stride, dilation, padding):
    return -(-size // stride) if padding == "SAME" else (size - (k - 1) * dilation - 1) // stride + 1


def transposed(
    size, k, stride, dilation, padding, batch=2, channels=2, out=3, kind=np.float32, depthwise=False, **more
):
    """The gradient of a square convolution from `size`; `out` is the multiplier of a depthwise one."""
    n = count(size, k, stride, dilation, padding)
    return baked(
        "DepthwiseConv2dNativeBackpropInput" if depthwise else "Conv2DBackpropInput",
        i32(batch, size, size, channels),
        numbers(k, k, channels, out, kind=kind),
        numbers(batch, n, n, out * channels if depthwise else out, kind=kind),
        fed=(2,),
        strides=[1, stride, stride, 1],
        dilations=[1, dilation, dilation, 1],
        padding=padding,
        **{"atol": SUMS, **more},
    )


def to_filter(op, x, sizes, dy, stride=1, padding="SAME", **more):
    rank = x.ndim - 2
    return baked(
        op,
        x,
        i32(*sizes),
        dy,
        fed=(0, 2),
        strides=[1, *[stride] * rank, 1],
        padding=padding,
        **{"atol": SUMS, **more},
    )


CASES = [
    *(
        transposed(size, k, stride, dilation, padding)
        for size, k, stride, dilation, padding in itertools.product(
            (6, 7, 8), (1, 2, 3), (1, 2, 3), (1, 2), ("SAME", "VALID")
        )
        if stride == 1 or dilation == 1
    ),
    transposed(7, 3, 2, 1, "SAME", kind=DOUBLE),
    transposed(7, 3, 2, 1, "SAME", kind=HALF, atol=1e-2),
    baked(
        "Conv2DBackpropInput",
        i32(1, 6, 6, 2),
        bf16(*numbers(3, 3, 2, 2)),
        bf16(*numbers(1, 3, 3, 2)),
        fed=(2,),
        strides=[1, 2, 2, 1],
        padding="SAME",
        atol=5e-2,
    ),
    baked(
        "Conv2DBackpropInput",
        i32(2, 6, 9, 4),
        numbers(3, 2, 2, 6),
        numbers(2, 3, 9, 6),
        fed=(2,),
        strides=[1, 2, 1, 1],
        padding="SAME",
        atol=SUMS,
        ways=("static", "dynamic", "fed", "host"),
    ),
    baked(
        "Conv2DBackpropInput",
        i32(1, 6, 6, 2),
        numbers(3, 3, 2, 2),
        numbers(1, 6, 7, 2),
        fed=(2,),
        strides=[1, 1, 1, 1],
        padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 1, 2, 1, 0, 0],
        atol=SUMS,
    ),
    baked(
        "Conv2DBackpropInput",
        i32(6, 6),
        numbers(3, 3, 2, 2),
        numbers(1, 6, 6, 2),
        fed=(2,),
        strides=[1, 1, 1, 1],
        padding="SAME",
        atol=SUMS,
    ),
    baked(
        "Conv2DBackpropInput",
        i32(1, 7, 6, 2),
        numbers(3, 3, 2, 2),
        numbers(1, 6, 6, 2),
        fed=(2,),
        strides=[1, 1, 1, 1],
        padding="SAME",
        fails=True,
    ),
    baked(
        "Conv2DBackpropInput",
        i32(1, 2, 6, 7),
        numbers(3, 3, 2, 3),
        numbers(1, 3, 3, 4),
        fed=(2,),
        strides=[1, 1, 2, 2],
        padding="SAME",
        data_format="NCHW",
        atol=SUMS,
    ),
    *(
        baked(
            "Conv3DBackpropInputV2",
            sizes(1, 4, 5, 6, 2),
            numbers(2, 3, 2, 2, 3),
            numbers(
                1,
                *(count(n, k, s, 1, padding) for n, k, s in zip((4, 5, 6), (2, 3, 2), strides, strict=True)),
                3,
            ),
            fed=(2,),
            strides=[1, *strides, 1],
            padding=padding,
            atol=SUMS,
        )
        for strides, padding, sizes in itertools.product(
            ((1, 1, 1), (2, 2, 2)), ("SAME", "VALID"), (i32, i64)
        )
    ),
    *(
        transposed(size, k, stride, 1, padding, depthwise=True, out=m)
        for size, k, stride, m, padding in itertools.product(
            (6, 7), (2, 3), (1, 2), (1, 2), ("SAME", "VALID")
        )
    ),
    to_filter("Conv2DBackpropFilter", numbers(2, 6, 6, 2), (3, 3, 2, 4), numbers(2, 6, 6, 4)),
    to_filter("Conv2DBackpropFilter", numbers(2, 7, 7, 2), (3, 3, 2, 4), numbers(2, 3, 3, 4), 2, "VALID"),
    to_filter(
        "Conv2DBackpropFilter",
        numbers(2, 7, 7, 2, kind=DOUBLE),
        (2, 3, 2, 4),
        numbers(2, 4, 4, 4, kind=DOUBLE),
        2,
    ),
    to_filter("Conv2DBackpropFilter", numbers(2, 6, 6, 2), (3, 3, 2, 4), numbers(2, 5, 6, 4), fails=True),
    to_filter("Conv3DBackpropFilterV2", numbers(1, 4, 4, 4, 2), (2, 2, 2, 2, 3), numbers(1, 2, 2, 2, 3), 2),
    to_filter("DepthwiseConv2dNativeBackpropFilter", numbers(2, 6, 6, 2), (3, 3, 2, 2), numbers(2, 6, 6, 4)),
    to_filter(
        "DepthwiseConv2dNativeBackpropFilter",
        numbers(2, 6, 6, 2),
        (3, 3, 2, 1),
        numbers(2, 2, 2, 2),
        2,
        "VALID",
    ),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_convolution_gradients(c, ways):
    check("convolution_backprop", c, ways)


def test_ops_that_take_a_tensor_instead_of_sizes():
    """TensorFlow has no kernels for these ops, which take the shape of a tensor instead of sizes."""
    x, w, dy = numbers(1, 6, 6, 2), numbers(3, 3, 2, 2), numbers(1, 3, 3, 2)
    attrs = {"strides": [1, 2, 2, 1], "padding": "SAME"}
    for with_tensor, with_sizes in (
        (
            case("Conv2DBackpropInputV2", x, w, dy, **attrs),
            case("Conv2DBackpropInput", i32(*x.shape), w, dy, **attrs),
        ),
        (
            case("Conv2DBackpropFilterV2", x, w, dy, **attrs),
            case("Conv2DBackpropFilter", x, i32(*w.shape), dy, **attrs),
        ),
    ):
        np.testing.assert_array_equal(run(with_tensor, "host")[0], run(with_sizes, "host")[0])
