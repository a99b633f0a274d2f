"""Convolutions."""

from functools import partial

import pytest
from tests.frontends.lite.cases import case, check, checks, const, out
from tests.runtime.cases import i32, numbers

conv = partial(case, "CONV_2D", options_type="Conv2DOptions", stride_w=1, stride_h=1)
depthwise = partial(
    case,
    "DEPTHWISE_CONV_2D",
    options_type="DepthwiseConv2DOptions",
    stride_w=1,
    stride_h=1,
    depth_multiplier=1,
)
conv_3d = partial(case, "CONV_3D", options_type="Conv3DOptions", stride_d=1, stride_w=1, stride_h=1)
FLOAT = [out("FLOAT32")]
transposed = partial(
    case, "TRANSPOSE_CONV", options_type="TransposeConvOptions", stride_w=2, stride_h=2, outputs=FLOAT
)
transposed_3d = partial(
    case, "CONV_3D_TRANSPOSE", options_type="Conv3DOptions", stride_d=1, stride_w=2, stride_h=2, outputs=FLOAT
)
X, BIAS = numbers(2, 5, 7, 3), numbers(4)
WEIGHTS = numbers(4, 3, 2, 3)
SHAPE = const(i32(2, 10, 14, 4))
CASES = [
    conv(X, const(WEIGHTS), const(numbers(1, 4))),
    conv(X, const(WEIGHTS), const(numbers(1, 1, 1, 4))),
    depthwise(X, const(numbers(1, 3, 2, 3)), const(numbers(1, 3)), fails=True),
    transposed(SHAPE, const(WEIGHTS), X, const(numbers(1, 4)), version=3, padding="SAME"),
    conv_3d(numbers(1, 3, 4, 5, 2), const(numbers(2, 2, 2, 2, 4)), const(numbers(1, 4)), padding="SAME"),
    *(
        conv(
            X,
            const(WEIGHTS),
            const(BIAS),
            padding=padding,
            stride_h=h,
            stride_w=w,
            fused_activation_function=act,
        )
        for padding in ("SAME", "VALID")
        for h, w in ((1, 1), (2, 1), (2, 3))
        for act in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
    ),
    *(
        conv(X, const(WEIGHTS), const(BIAS), padding=padding, dilation_h_factor=h, dilation_w_factor=w)
        for padding in ("SAME", "VALID")
        for h, w in ((2, 2), (1, 3))
    ),
    conv(X, const(numbers(4, 1, 1, 3)), const(BIAS), padding="SAME", stride_h=2, stride_w=2),
    conv(numbers(1, 4, 4, 6), const(numbers(4, 3, 3, 3)), const(BIAS), padding="SAME", version=6),
    conv(X, WEIGHTS, BIAS, padding="SAME"),
    conv(X, const(numbers(4, 3, 2, 2)), const(BIAS), padding="SAME", fails=True),
    *(
        depthwise(
            X,
            const(numbers(1, 3, 2, 3 * m)),
            const(numbers(3 * m)),
            padding=padding,
            depth_multiplier=m,
            stride_h=stride,
            stride_w=stride,
            dilation_h_factor=dilation,
            dilation_w_factor=dilation,
            fused_activation_function=act,
        )
        for padding in ("SAME", "VALID")
        for m, stride, dilation, act in ((1, 1, 1, "NONE"), (2, 2, 1, "RELU6"), (3, 1, 2, "NONE"))
    ),
    depthwise(X, const(numbers(1, 3, 2, 3)), const(numbers(3)), padding="SAME", stride_h=2, stride_w=1),
    depthwise(X, const(numbers(1, 2, 2, 3)), padding="VALID"),
    *(
        conv_3d(
            numbers(1, 4, 5, 3, 2),
            const(numbers(2, 3, 2, 2, 4)),
            bias,
            padding=padding,
            stride_d=d,
            stride_h=h,
            stride_w=w,
            fused_activation_function=act,
        )
        for padding in ("SAME", "VALID")
        for d, h, w, act, bias in (
            (1, 1, 1, "NONE", None),
            (2, 1, 2, "RELU", const(BIAS)),
            (1, 3, 1, "RELU6", const(BIAS)),
        )
    ),
    conv_3d(
        numbers(1, 5, 5, 5, 2),
        const(numbers(2, 2, 2, 2, 4)),
        padding="SAME",
        dilation_d_factor=2,
        dilation_h_factor=2,
        dilation_w_factor=2,
    ),
    *(
        transposed(const(shape), const(weights), X, *bias, padding=padding, **options)
        for shape, weights, padding, bias, options in (
            (i32(2, 10, 14, 4), numbers(4, 3, 3, 3), "SAME", (), {}),
            (i32(2, 9, 13, 4), numbers(4, 3, 3, 3), "SAME", (), {}),
            (i32(2, 11, 15, 4), numbers(4, 3, 3, 3), "VALID", (), {}),
            (i32(2, 12, 16, 4), numbers(4, 3, 3, 3), "VALID", (const(BIAS),), {"version": 3}),
            (
                i32(2, 10, 14, 4),
                numbers(4, 2, 2, 3),
                "SAME",
                (const(BIAS),),
                {"version": 4, "fused_activation_function": "RELU"},
            ),
            (
                i32(2, 5, 7, 4),
                numbers(4, 5, 5, 3),
                "SAME",
                (const(BIAS),),
                {"version": 4, "fused_activation_function": "RELU6", "stride_w": 1, "stride_h": 1},
            ),
            (i32(2, 15, 7, 4), numbers(4, 3, 1, 3), "SAME", (None,), {"stride_w": 1, "stride_h": 3}),
            (i32(2, 15, 21, 4), numbers(4, 1, 1, 3), "SAME", (), {"stride_w": 3, "stride_h": 3}),
        )
    ),
    transposed(i32(2, 10, 14, 4), const(numbers(4, 3, 3, 3)), X, padding="SAME"),
    *(
        transposed_3d(
            const(shape),
            const(numbers(2, 3, 2, 4, 2)),
            numbers(1, 4, 3, 2, 2),
            bias,
            padding=padding,
            fused_activation_function=act,
        )
        for shape, padding, bias, act in (
            (i32(1, 4, 6, 4, 4), "SAME", None, "NONE"),
            (i32(1, 5, 7, 4, 4), "VALID", const(BIAS), "RELU"),
        )
    ),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_convolution(c):
    check("convolution", c)
