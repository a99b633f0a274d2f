"""Batch normalization with older ops, in float32, and in plain arithmetic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain, rewritten_for
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.nn.batch_norm import (
    as_batch_norm_v2,
    as_batch_norm_v3,
    as_first_batch_norm,
    as_first_gradient,
    batch_norm_and_activation,
    global_normalization_by_arithmetic,
    gradient_without_reserve_space,
    normalized_by_arithmetic,
    normalized_in_float32,
    normalized_in_two_dimensions,
    with_averages_apart,
    without_reserve_space,
    without_unused_averages,
)

IMAGES = numbers(2, 3, 4, 5)
STATISTICS = {
    "s": numbers(5, seed=1),
    "o": numbers(5, seed=2),
    "m": numbers(5, seed=3),
    "v": numbers(5, seed=4, low=0.1),
}
EMPTY = np.zeros(0, np.float32)
NONE = {**STATISTICS, "m": EMPTY, "v": EMPTY}
ALL = ["y:0", "y:1", "y:2"]
SAVED = ["y:0", "y:1", "y:2", "y:3", "y:4"]


def line(op, kind="float32", **attrs):
    types = f"T={kind}" if op.endswith("Norm") else f"T={kind}, U=float32"
    text = "".join(f", {name}={value}" for name, value in attrs.items())
    return f"y = {op}(x, s, o, m, v) {{{types}{text}}}"


V1, V2, V3 = (line(f"FusedBatchNorm{v}", is_training="false", epsilon=0.01) for v in ("", "V2", "V3"))
T1, T2, T3 = (line(f"FusedBatchNorm{v}", is_training="true") for v in ("", "V2", "V3"))
GRADIENTS = ["y:0", "y:1", "y:2"]
GIVEN = {
    "g": numbers(2, 3, 4, 5, seed=9),
    "x": IMAGES,
    "s": STATISTICS["s"],
    "m": STATISTICS["m"],
    "v": STATISTICS["v"],
}
HALF = IMAGES.astype(np.float16)

CASES = [
    rule_case(without_reserve_space, V3, fetches=ALL, x=IMAGES, **STATISTICS),
    rule_case(without_reserve_space, V3, x=IMAGES[:0], open=("x",), **STATISTICS),
    rule_case(without_reserve_space, T3, fetches=SAVED, x=IMAGES, **NONE),
    rule_case(without_reserve_space, T3, fetches=SAVED, x=IMAGES, **STATISTICS),
    rule_case(
        without_reserve_space,
        line("FusedBatchNormV3", is_training="true", exponential_avg_factor=0.3),
        fetches=ALL,
        x=IMAGES,
        **STATISTICS,
    ),
    rule_case(
        without_reserve_space,
        line("FusedBatchNormV3", kind="float16", is_training="false"),
        x=HALF,
        **STATISTICS,
    ),
    rule_case(as_first_batch_norm, V2, fetches=ALL, x=IMAGES, **STATISTICS),
    rule_case(as_first_batch_norm, T2, fetches=SAVED, x=IMAGES, **STATISTICS),
    rule_case(without_unused_averages, T3, fetches=SAVED, x=IMAGES, **STATISTICS),
    rule_case(as_batch_norm_v2, V1, fetches=ALL, x=IMAGES, **STATISTICS),
    rule_case(as_batch_norm_v2, T1, fetches=SAVED, x=IMAGES, **NONE),
    rule_case(as_batch_norm_v3, V2, fetches=ALL, x=IMAGES, **STATISTICS),
    rule_case(
        normalized_in_float32,
        line("FusedBatchNormV3", kind="float16", is_training="false"),
        fetches=ALL,
        x=HALF,
        **STATISTICS,
    ),
    rule_case(
        normalized_in_float32,
        line("FusedBatchNormV2", kind="float16", is_training="true"),
        fetches=SAVED,
        x=HALF,
        **NONE,
    ),
    rule_case(
        normalized_in_float32,
        "b = Cast(x) {SrcT=float32, DstT=bfloat16}\n"
        "y = FusedBatchNormV3(b, s, o, m, v) {T=bfloat16, U=float32, is_training=false}\n"
        "z = Cast(y) {SrcT=bfloat16, DstT=float32}",
        fetches="z:0",
        answers="tfport",
        rtol=0.01,
        atol=0.01,
        x=IMAGES,
        **STATISTICS,
    ),
    rule_case(
        normalized_in_two_dimensions,
        line("FusedBatchNormV3", data_format="NDHWC", is_training="false"),
        fetches=ALL,
        x=numbers(2, 2, 3, 4, 5),
        **STATISTICS,
    ),
    rule_case(
        normalized_in_two_dimensions,
        line("FusedBatchNormV3", data_format="NDHWC", is_training="true"),
        fetches=SAVED,
        x=numbers(2, 2, 3, 4, 5),
        open=("x",),
        **NONE,
    ),
    rule_case(
        normalized_in_two_dimensions,
        line("FusedBatchNormV3", data_format="NCDHW", is_training="false"),
        fetches=ALL,
        x=numbers(2, 5, 2, 3, 4),
        **STATISTICS,
    ),
    rule_case(
        with_averages_apart,
        line("FusedBatchNormV3", is_training="true", exponential_avg_factor=0.3),
        fetches=SAVED,
        x=IMAGES,
        **STATISTICS,
    ),
    rule_case(
        with_averages_apart,
        line("FusedBatchNorm", is_training="true", exponential_avg_factor=0.25),
        fetches=SAVED,
        x=IMAGES,
        **STATISTICS,
    ),
    rule_case(normalized_by_arithmetic, V3, fetches=ALL, x=IMAGES, rtol=1e-5, atol=1e-5, **STATISTICS),
    rule_case(
        normalized_by_arithmetic, V1, fetches=ALL, x=IMAGES, open=("x",), rtol=1e-5, atol=1e-5, **STATISTICS
    ),
    rule_case(normalized_by_arithmetic, T2, fetches=SAVED, x=IMAGES, rtol=1e-5, atol=1e-5, **NONE),
    rule_case(
        normalized_by_arithmetic, T2, fetches=SAVED, x=IMAGES[:1, :1, :1], rtol=1e-5, atol=1e-5, **NONE
    ),
    rule_case(
        normalized_by_arithmetic,
        line("FusedBatchNormV3", data_format="NCDHW", is_training="true"),
        fetches=SAVED,
        x=numbers(2, 5, 2, 3, 4),
        rtol=1e-5,
        atol=1e-5,
        **NONE,
    ),
    rule_case(
        normalized_by_arithmetic,
        line("FusedBatchNormV2", kind="float16", is_training="false"),
        x=HALF,
        rtol=2e-3,
        atol=2e-3,
        **STATISTICS,
    ),
    rule_case(
        global_normalization_by_arithmetic,
        "y = BatchNormWithGlobalNormalization(x, m, v, o, s) {T=float32, variance_epsilon=0.1, "
        "scale_after_normalization=true}",
        answers="tfport",
        rtol=1e-5,
        atol=1e-5,
        x=IMAGES,
        **STATISTICS,
    ),
    rule_case(
        global_normalization_by_arithmetic,
        "y = BatchNormWithGlobalNormalization(x, m, v, o, s) {T=float32, variance_epsilon=0.1, "
        "scale_after_normalization=false}",
        answers="tfport",
        rtol=1e-5,
        atol=1e-5,
        x=IMAGES,
        **STATISTICS,
    ),
    rule_case(
        batch_norm_and_activation,
        "y = _FusedBatchNormEx(x, s, o, m, v, w) {T=float32, U=float32, is_training=false, "
        "num_side_inputs=1, activation_mode=Relu}",
        answers="tfport",
        rtol=1e-5,
        atol=1e-5,
        x=IMAGES,
        w=numbers(2, 3, 4, 5, seed=8),
        **STATISTICS,
    ),
    rule_case(
        batch_norm_and_activation,
        "y = _FusedBatchNormEx(x, s, o, m, v) {T=float32, U=float32, is_training=false, "
        "num_side_inputs=0, activation_mode=Identity}",
        answers="tfport",
        rtol=1e-5,
        atol=1e-5,
        x=IMAGES,
        **STATISTICS,
    ),
    rule_case(
        gradient_without_reserve_space,
        "y = FusedBatchNormGradV3(g, x, s, m, v, r) {T=float32, U=float32, is_training=true}",
        fetches=GRADIENTS,
        r=EMPTY,
        **GIVEN,
    ),
    rule_case(
        as_first_gradient,
        "y = FusedBatchNormGradV2(g, x, s, m, v) {T=float32, U=float32, is_training=false}",
        fetches=GRADIENTS,
        **GIVEN,
    ),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@settings(max_examples=25)
@given(
    shape=st.tuples(*[st.integers(1, 4)] * 4),
    training=st.booleans(),
    layout=st.sampled_from(["NHWC", "NCHW"]),
    rule=st.sampled_from([without_reserve_space, normalized_by_arithmetic, normalized_in_float32]),
    is_open=st.booleans(),
)
def test_answers_stay_whatever_the_shape(shape, training, layout, rule, is_open):
    channels = shape[1 if layout == "NCHW" else 3]
    kind, made = ("float16", np.float16) if rule is normalized_in_float32 else ("float32", np.float32)
    text = line("FusedBatchNormV3", kind=kind, is_training=str(training).lower(), data_format=layout)
    inputs = {
        name: EMPTY if training and name in "mv" else numbers(channels, seed=place, low=0.2)
        for place, name in enumerate("somv")
    }
    check(
        rule_case(
            rule,
            text,
            fetches=ALL,
            x=numbers(*shape, kind=made),
            rtol=1e-3,
            atol=1e-3,
            open=("x",) if is_open else (),
            **inputs,
        )
    )


REFUSED = [
    (
        without_reserve_space,
        line("FusedBatchNormV3", data_format="NDHWC", is_training="false"),
        "FusedBatchNormV2 does not support data_format=NDHWC",
        numbers(2, 2, 3, 4, 5),
    ),
    (without_reserve_space, V3 + "\nz = Identity(y:5) {T=float32}", "`z` reads output 5", IMAGES),
    (
        as_first_batch_norm,
        line("FusedBatchNormV2", kind="float16"),
        "FusedBatchNorm does not support float16",
        HALF,
    ),
    (normalized_in_float32, V3, "its input is float32", IMAGES),
    (without_unused_averages, V3, "it uses all of its inputs", IMAGES),
    (normalized_in_two_dimensions, V3, "its data_format is NHWC", IMAGES),
    (with_averages_apart, V3, "it computes no running averages", IMAGES),
    (
        normalized_by_arithmetic,
        line("FusedBatchNormV3", exponential_avg_factor=0.5),
        "it computes running averages",
        IMAGES,
    ),
    (normalized_by_arithmetic, V3 + "\nz = Identity(y:3) {T=float32}", "`z` reads output 3", IMAGES),
]


@pytest.mark.parametrize(("rule", "text", "because", "x"), REFUSED, ids=[row[2] for row in REFUSED])
def test_stays_as_it_was(rule, text, because, x):
    assert_refuses(rule, text, because=because, x=x, **STATISTICS)


BATCHES = {
    "plain": (V3, IMAGES),
    "training": (T3, IMAGES),
    "half": (line("FusedBatchNormV3", kind="float16", is_training="false"), HALF),
    "depth": (line("FusedBatchNormV3", data_format="NDHWC", is_training="false"), numbers(2, 2, 3, 4, 5)),
    "averages": (line("FusedBatchNormV3", is_training="true", exponential_avg_factor=0.3), IMAGES),
}


@pytest.mark.parametrize("name", BATCHES)
def test_reaches_the_oldest_release(name):
    text, x = BATCHES[name]
    check_chain(chain_case(text, fetches=ALL, x=x, rtol=1e-3, atol=1e-3, **STATISTICS))


def test_averages_that_training_does_not_use_are_not_given_to_old_releases():
    c = chain_case(T3, x=IMAGES, rtol=1e-5, atol=1e-5, **STATISTICS)
    after = rewritten_for(c, "tensorflow==1.15.5").graph.nodes["y"]
    assert [value.node.op for value in after.inputs] == ["Placeholder"] * 3 + ["Const"] * 2
