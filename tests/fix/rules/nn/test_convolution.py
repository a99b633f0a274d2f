"""Convolutions whose padding, dilation, strides and groups are replaced by other ops."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain, rewritten_for
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.nn.convolution import (
    as_conv_of_its_rank,
    as_product_of_patches,
    channel_by_channel,
    cut_after_padding,
    gradient_for_its_sizes,
    gradient_for_sizes_of_filter,
    group_by_group,
    padded_outright,
    sizes_as_int32,
    strided_outright,
    through_space_to_batch,
    volume_gradient_for_its_sizes,
)

X, F = numbers(2, 9, 11, 4), numbers(3, 2, 4, 5, seed=1)
D = numbers(3, 2, 4, 2, seed=2)
BIG, WIDE = numbers(2, 40, 37, 64), numbers(3, 3, 64, 48, seed=3)
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def conv(op="Conv2D", kind="float32", **attrs):
    attributes = {"strides": [1, 1, 1, 1], "padding": "SAME", **attrs}
    text = ", ".join(f"{name}={value}" for name, value in attributes.items())
    return f"y = {op}(x, f) {{T={kind}, {text}}}"


PADDED = {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 2, 1, 0, 3, 0, 0]}
FIRST = {**PADDED, "explicit_paddings": [0, 0, 0, 0, 2, 1, 0, 3], "data_format": "NCHW"}
DILATED = {"dilations": [1, 2, 3, 1]}
BACK = (
    "y = Conv2DBackpropInput(n, f, g) {T=float32, strides=[1, 2, 1, 1], padding=EXPLICIT, "
    "explicit_paddings=%s}"
)
VOLUME, KERNEL = numbers(2, 5, 6, 7, 3), numbers(2, 3, 2, 3, 4, seed=5)

CASES = [
    rule_case(padded_outright, conv(**PADDED), x=X, f=F),
    rule_case(padded_outright, conv(**PADDED), x=BIG, f=WIDE),
    rule_case(padded_outright, conv(**PADDED, strides=[1, 2, 2, 1]), x=X, f=F, open=("x", "f")),
    rule_case(padded_outright, conv(padding="EXPLICIT", explicit_paddings=[0] * 8), x=X, f=F),
    rule_case(padded_outright, conv(**PADDED, **DILATED), x=X, f=F),
    rule_case(
        padded_outright, conv(kind="int32", **PADDED), x=(X * 9).astype(np.int32), f=(F * 9).astype(np.int32)
    ),
    rule_case(padded_outright, conv("DepthwiseConv2dNative", **PADDED), x=X, f=D),
    rule_case(
        padded_outright, conv(kind="float64", **PADDED), x=X.astype(np.float64), f=F.astype(np.float64)
    ),
    rule_case(
        cut_after_padding,
        BACK % [0, 0, 1, 1, 0, 1, 0, 0],
        n=np.int32([2, 9, 11, 4]),
        constants=("n",),
        f=F,
        g=numbers(2, 5, 11, 5),
    ),
    rule_case(
        cut_after_padding,
        BACK % [0, 0, 1, 1, 0, 1, 0, 0],
        n=np.int32([2, 9, 11, 4]),
        f=F,
        g=numbers(2, 5, 11, 5),
    ),
    rule_case(through_space_to_batch, conv(**DILATED), x=X, f=F, **CLOSE),
    rule_case(through_space_to_batch, conv(**DILATED, padding="VALID"), x=X, f=F, open=("x",), **CLOSE),
    rule_case(through_space_to_batch, conv(**DILATED), x=X, f=F, open=("x",), **CLOSE),
    rule_case(through_space_to_batch, conv(dilations=[1, 2, 2, 1]), x=BIG, f=WIDE, rtol=1e-4, atol=1e-4),
    rule_case(through_space_to_batch, conv(**DILATED, **PADDED), x=X, f=F, **CLOSE),
    rule_case(through_space_to_batch, conv(**DILATED, strides=[1, 2, 3, 1]), x=X, f=F, **CLOSE),
    rule_case(through_space_to_batch, conv(**DILATED, strides=[1, 2, 3, 1]), x=X, f=F, open=("x",), **CLOSE),
    rule_case(
        through_space_to_batch,
        conv("DepthwiseConv2dNative", dilations=[1, 2, 2, 1]),
        x=X,
        f=D,
        answers="tfport",
        **CLOSE,
    ),
    rule_case(
        through_space_to_batch,
        conv("Conv3D", strides=[1] * 5, dilations=[1, 2, 1, 3, 1]),
        x=VOLUME,
        f=KERNEL,
        answers="tfport",
        **CLOSE,
    ),
    rule_case(
        strided_outright,
        conv("DepthwiseConv2dNative", strides=[1, 2, 1, 1]),
        x=X,
        f=D,
        answers="tfport",
        **CLOSE,
    ),
    rule_case(
        strided_outright,
        conv("DepthwiseConv2dNative", strides=[1, 2, 3, 1], padding="VALID"),
        x=X,
        f=D,
        answers="tfport",
        open=("x",),
        **CLOSE,
    ),
    rule_case(
        strided_outright,
        conv("DepthwiseConv2dNative", strides=[1, 3, 1, 1]),
        x=X,
        f=D,
        answers="tfport",
        open=("x",),
        **CLOSE,
    ),
    rule_case(group_by_group, conv(), x=X, f=numbers(3, 2, 2, 6), **CLOSE),
    rule_case(group_by_group, conv(strides=[1, 2, 2, 1], **DILATED), x=X, f=numbers(3, 2, 1, 8), **CLOSE),
    rule_case(channel_by_channel, conv(), x=X, f=numbers(3, 2, 1, 8), **CLOSE),
    rule_case(channel_by_channel, conv(**PADDED), x=X, f=numbers(3, 2, 1, 4), **CLOSE),
    rule_case(as_product_of_patches, conv(), x=X, f=F, **CLOSE),
    rule_case(
        as_product_of_patches,
        conv(kind="int32", strides=[1, 2, 1, 1], **DILATED),
        x=(X * 9).astype(np.int32),
        f=(F * 9).astype(np.int32),
    ),
    rule_case(
        as_product_of_patches,
        conv(kind="float64", padding="VALID"),
        x=X.astype(np.float64),
        f=F.astype(np.float64),
        **CLOSE,
    ),
    rule_case(as_conv_of_its_rank, conv("Conv", strides=[1, 2, 2, 1]), x=X, f=F),
    rule_case(as_conv_of_its_rank, conv("Conv", **PADDED), x=X, f=F),
    rule_case(as_conv_of_its_rank, conv("Conv", strides=[1] * 5), x=VOLUME, f=KERNEL),
    rule_case(
        sizes_as_int32,
        "y = Conv3DBackpropInputV2(n, f, g) {T=float32, strides=[1, 1, 1, 1, 1], padding=SAME, Tshape=int64}",
        n=np.int64([2, 5, 6, 7, 3]),
        f=KERNEL,
        g=numbers(2, 5, 6, 7, 4),
    ),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@settings(max_examples=40)
@given(
    size=st.tuples(st.integers(4, 9), st.integers(4, 9)),
    window=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    rates=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.sampled_from(["SAME", "VALID"]),
    depthwise=st.booleans(),
    is_open=st.booleans(),
)
def test_dilation_and_strides_stay(size, window, rates, strides, padding, depthwise, is_open):
    op = "DepthwiseConv2dNative" if depthwise else "Conv2D"
    assume(padding == "SAME" or all(s > (w - 1) * r for s, w, r in zip(size, window, rates, strict=True)))
    attrs = {"dilations": [1, *rates, 1], "strides": [1, *strides, 1], "padding": padding}
    rules = [through_space_to_batch] if max(rates) > 1 else []
    rules += [strided_outright] if depthwise and strides[0] != strides[1] else []
    for rule in rules:
        check(
            rule_case(
                rule,
                conv(op, **attrs),
                x=numbers(2, *size, 3),
                f=numbers(*window, 3, 2, seed=1),
                open=("x",) if is_open else (),
                rtol=1e-4,
                atol=1e-4,
            )
        )


V2 = "y = Conv2DBackprop%sV2(x, f, g) {T=float32, strides=[1, 1, 1, 1], padding=SAME}"
OLD = "y = Conv3DBackpropInput(x, f, g) {T=float32, strides=[1, 1, 1, 1, 1], padding=SAME}"
GRADIENTS = [
    (gradient_for_its_sizes, V2 % "Input", X, F, "Shape Conv2DBackpropInput"),
    (gradient_for_sizes_of_filter, V2 % "Filter", X, F, "Shape Conv2DBackpropFilter"),
    (volume_gradient_for_its_sizes, OLD, VOLUME, KERNEL, "Shape Conv3DBackpropInputV2"),
]


@pytest.mark.parametrize(("rule", "text", "x", "f", "made"), GRADIENTS, ids=["input", "filter", "volume"])
def test_a_gradient_is_given_a_shape(rule, text, x, f, made):
    from tests.fix.rule_cases import apply

    c = rule_case(rule, text, x=x, f=f, g=numbers(*x.shape[:-1], f.shape[-1]))
    assert apply(rule, c.model()) == made.split()


REFUSED = [
    (padded_outright, conv(), "its padding is SAME", {}),
    (
        cut_after_padding,
        "y = Conv2DBackpropInput(f, x, x) {T=float32, strides=[1, 1, 1, 1], padding=SAME}",
        "its padding is SAME",
        {},
    ),
    (
        cut_after_padding,
        BACK.replace("g)", "x)") % [0, 0, 0, 0, 0, 0, 0, 0],
        "only two elements",
        {"n": np.int32([3, 3])},
    ),
    (through_space_to_batch, conv(), "it is not dilated", {}),
    (through_space_to_batch, conv(**DILATED), "the shape of its filter is unknown", {"open": ("f",)}),
    (through_space_to_batch, conv(data_format="NCHW", dilations=[1, 1, 2, 2]), "its data_format is NCHW", {}),
    (strided_outright, conv("DepthwiseConv2dNative"), "its strides are [1, 1]", {}),
    (group_by_group, conv(), "it has one group of channels", {}),
    (group_by_group, conv(), "number of channels of its image", {"open": ("x",)}),
    (channel_by_channel, conv(), "its groups are not single channels", {}),
    (as_product_of_patches, conv(**PADDED), "its padding is EXPLICIT", {}),
    (as_conv_of_its_rank, conv("Conv", groups=2), "groups=2", {}),
    (
        as_conv_of_its_rank,
        conv("Conv", strides=[1] * 5, **{**PADDED, "explicit_paddings": [0] * 10}),
        "Conv3D does not support explicit padding",
        {"x": VOLUME, "f": KERNEL},
    ),
    (
        sizes_as_int32,
        "y = Conv3DBackpropInputV2(n, f, x) {T=float32, strides=[1, 1, 1, 1, 1], padding=SAME}",
        "its sizes are int32",
        {"n": np.int32([1, 2])},
    ),
]


@pytest.mark.parametrize(("rule", "text", "because", "inputs"), REFUSED, ids=[row[2] for row in REFUSED])
def test_stays_as_it_was(rule, text, because, inputs):
    assert_refuses(rule, text, because=because, **{"x": X, "f": F, **inputs})


INTS = {"x": (X * 9).astype(np.int32), "f": (F * 9).astype(np.int32)}
CHAINS = {
    "explicit": (conv(**PADDED), {}),
    "explicit and dilated": (conv(**PADDED, **DILATED), {"open": ("x",)}),
    "dilated": (conv(**DILATED, strides=[1, 2, 2, 1]), {}),
    "channels first": (conv(**FIRST, dilations=[1, 1, 2, 2]), {"x": X.transpose(0, 3, 1, 2).copy()}),
    "integers": (conv(kind="int32", **PADDED), INTS),
    "groups": (conv(), {"f": numbers(3, 2, 2, 6)}),
    "depthwise": (conv("DepthwiseConv2dNative", **PADDED, dilations=[1, 2, 2, 1]), {"f": D}),
    "uneven": (conv("DepthwiseConv2dNative", **PADDED, strides=[1, 2, 1, 1]), {"f": D}),
    "any rank": (conv("Conv", **PADDED), {}),
    "volume": (conv("Conv3D", strides=[1] * 5, dilations=[1, 2, 1, 1, 1]), {"x": VOLUME, "f": KERNEL}),
    "gradient": (BACK % [0, 0, 1, 1, 0, 1, 0, 0], {"n": np.int32([2, 9, 11, 4]), "g": numbers(2, 5, 11, 5)}),
}


@pytest.mark.parametrize("name", CHAINS)
def test_reaches_the_oldest_release(name):
    text, changes = CHAINS[name]
    inputs = {"x": X, "f": F, **changes}
    if "(n," in text:
        del inputs["x"]
    check_chain(chain_case(text, rtol=1e-4, atol=1e-4, **inputs))


def test_dilations_that_old_kernels_pass_over_are_not_left_to_them():
    c = chain_case(conv("DepthwiseConv2dNative", dilations=[1, 2, 2, 1]), x=X, f=D, rtol=1e-5, atol=1e-5)
    assert "SpaceToBatchND" in {node.op for node in rewritten_for(c, "tensorflow==2.8.4").graph}
    check_chain(c, "tensorflow==2.8.4")
