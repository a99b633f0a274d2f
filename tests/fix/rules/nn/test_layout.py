"""Channels-first ops between transposes to channels last."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import apply, assert_refuses, check, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.nn.layout import channels_last

X = numbers(2, 4, 6, 8)
V = numbers(2, 4, 5, 6, 3)
F = numbers(3, 2, 4, 5, seed=1)
S = numbers(4, seed=1, low=0.1)
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
OURS = {"answers": "tfport", **CLOSE}
POOL = "ksize=[1, 1, 3, 2], strides=[1, 1, 2, 1], padding=SAME, data_format=NCHW"
CONV = "y = Conv2D(x, f) {T=float32, strides=[1, 1, 2, 1], padding=SAME, data_format=NCHW}"
NORM = "T=float32, U=float32, is_training=false, data_format=NCHW"

CASES = [
    rule_case(channels_last, CONV, x=X, f=F, **OURS),
    rule_case(channels_last, CONV, x=X, f=F, open=("x", "f"), **OURS),
    rule_case(
        channels_last,
        "y = Conv2D(x, f) {T=float32, strides=[1, 1, 1, 1], padding=EXPLICIT, data_format=NCHW, "
        "explicit_paddings=[0, 0, 0, 0, 1, 2, 0, 3], dilations=[1, 1, 1, 2]}",
        x=X,
        f=F,
        **OURS,
    ),
    rule_case(
        channels_last,
        "y = DepthwiseConv2dNative(x, f) {T=float32, strides=[1, 1, 2, 2], padding=SAME, data_format=NCHW}",
        x=X,
        f=F,
        **OURS,
    ),
    rule_case(
        channels_last,
        "y = Conv2DBackpropInput(n, f, g) {T=float32, strides=[1, 1, 2, 1], padding=SAME, data_format=NCHW}",
        n=np.int32([2, 4, 6, 8]),
        f=F,
        g=numbers(2, 5, 3, 8),
        **OURS,
    ),
    rule_case(
        channels_last,
        "y = Conv2DBackpropInput(n, f, g) {T=float32, strides=[1, 1, 2, 1], padding=SAME, data_format=NCHW}",
        n=np.int32([2, 4, 6, 8]),
        constants=("n",),
        f=F,
        g=numbers(2, 5, 3, 8),
        **OURS,
    ),
    rule_case(channels_last, f"y = MaxPool(x) {{T=float32, {POOL}}}", x=X, **OURS),
    rule_case(
        channels_last,
        "y = MaxPoolV2(x, k, s) {T=float32, padding=SAME, data_format=NCHW}",
        x=X,
        k=np.int32([1, 1, 3, 2]),
        s=np.int32([1, 1, 2, 1]),
        constants=("k", "s"),
        **OURS,
    ),
    rule_case(channels_last, f"y = AvgPool(x) {{T=float32, {POOL}}}", x=X, **OURS),
    rule_case(
        channels_last,
        "y = Conv3D(x, f) {T=float32, strides=[1, 1, 2, 1, 1], padding=SAME, data_format=NCDHW}",
        x=V.transpose(0, 4, 1, 2, 3).copy(),
        f=numbers(2, 3, 2, 3, 4),
        **OURS,
    ),
    rule_case(
        channels_last,
        "y = MaxPool3D(x) {T=float32, ksize=[1, 1, 2, 2, 1], strides=[1, 1, 2, 1, 1], "
        "padding=SAME, data_format=NCDHW}",
        x=V.transpose(0, 4, 1, 2, 3).copy(),
        **OURS,
    ),
    rule_case(
        channels_last, f"y = FusedBatchNormV3(x, s, s, s, s) {{{NORM}}}", fetches=["y:0", "y:1"], x=X, s=S
    ),
    rule_case(
        channels_last, f"y = FusedBatchNormV2(x, s, s, s, s) {{{NORM}}}", fetches=["y:0", "y:1"], x=X, s=S
    ),
    rule_case(channels_last, "y = DepthToSpace(x) {T=float32, block_size=2, data_format=NCHW}", x=X, **OURS),
    rule_case(channels_last, "y = SpaceToDepth(x) {T=float32, block_size=2, data_format=NCHW}", x=X, **OURS),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_what_has_channels_last_stays():
    assert_refuses(
        channels_last,
        "y = MaxPool(x) {T=float32, ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding=SAME}",
        because="its data_format is NHWC",
        x=X,
    )


def test_a_transposition_is_not_undone_by_another():
    c = rule_case(
        channels_last,
        f"p = Const() {{dtype=int32, value=int32(4,)[0, 3, 1, 2]}}\nt = Transpose(x, p) "
        f"{{T=float32, Tperm=int32}}\ny = MaxPool(t) {{T=float32, {POOL}}}",
        x=X,
    )
    assert apply(channels_last, c.model()) == ["MaxPool", "Const", "Transpose"]


@pytest.mark.parametrize("target", ["tensorflow==1.4.1", "tensorflow==1.15.5", "tensorflow==2.8.4"])
def test_a_network_for_gpus_reaches_cpus(target):
    text = f"""
        c = Conv2D(x, f) {{T=float32, strides=[1, 1, 1, 1], padding=SAME, data_format=NCHW}}
        n = FusedBatchNormV3(c, s, s, s, s) {{{NORM}}}
        r = Relu(n) {{T=float32}}
        y = MaxPool(r) {{T=float32, {POOL}}}"""
    check_chain(chain_case(text, x=X, f=numbers(3, 3, 4, 4), s=S, **CLOSE), target)
