"""Older versions of non-max suppression, crops and image transforms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.image.boxes import (
    boxes_in_float32,
    filled_with_zeros,
    in_any_dimensions,
    in_two_dimensions,
    soft_without_threshold,
    with_any_score,
    with_constant_overlap,
    with_overlap_as_input,
    without_padding,
    without_score_threshold,
    without_soft_scores,
)


def boxes(count, seed=0):
    corners = np.sort(numbers(count, 2, 2, seed=seed, low=0, high=1), axis=1)
    return {"b": corners.reshape(count, 4), "c": np.round(numbers(count, seed=seed, low=0, high=1), 1)}


BOXES = boxes(30)
LIMITS = {"m": np.int32(8), "o": np.float32(0.4), "t": np.float32(0.3), "g": np.float32(0)}
HALF = {name: np.asarray(value, np.float16) for name, value in {**BOXES, **LIMITS}.items() if name != "m"}
PAD = ", pad_to_max_output_size=true"
V1 = "y = NonMaxSuppression(b, c, m) {iou_threshold=0.4}"
V2 = "y = NonMaxSuppressionV2(b, c, m, o) {T=float32}"
V3 = "y = NonMaxSuppressionV3(b, c, m, o, t) {T=float32}"
V4 = "y = NonMaxSuppressionV4(b, c, m, o, t) {T=float32%s}"
V5 = "y = NonMaxSuppressionV5(b, c, m, o, t, g) {T=float32%s}"
TWO, THREE = ["y:0", "y:1"], ["y:0", "y:1", "y:2"]


def chosen(rule, text, fetches="y:0", **overrides):
    inputs = {**BOXES, **LIMITS, **overrides}
    names = text[text.index("(") + 1 : text.index(")")].split(", ")
    options = {k: v for k, v in overrides.items() if k in ("open", "constants", "answers")}
    return rule_case(rule, text, fetches=fetches, **{**{name: inputs[name] for name in names}, **options})


SIGMA = {"constants": ("g",)}
TRANSFORM = "y = ImageProjectiveTransformV3(x, p, s, f) {dtype=float32, interpolation=BILINEAR%s}"
IMAGE = {
    "x": numbers(2, 5, 6, 3),
    "p": np.float32([[1, 0.2, 0.5, 0.1, 0.9, -1, 0, 0]]),
    "s": np.int32([7, 4]),
}
PLACES = numbers(4, 6, 6, 2)
CASES = [
    chosen(soft_without_threshold, V5 % "", THREE, g=np.float32(0.5), **SIGMA),
    *(
        chosen(without_soft_scores, V5 % pad, THREE, **SIGMA, **overrides)
        for pad in ("", PAD)
        for overrides in ({}, {"m": np.int32(40)}, {"m": np.int32(0)})
    ),
    chosen(without_soft_scores, V5 % "", THREE, constants=("g",), open=("b", "c")),
    *(
        chosen(without_padding, V4 % pad, TWO, **overrides)
        for pad in ("", PAD)
        for overrides in ({}, {"m": np.int32(40)}, {"open": ("b", "c")})
    ),
    chosen(without_score_threshold, V3),
    chosen(without_score_threshold, V3, open=("b", "c")),
    chosen(without_score_threshold, V3, t=np.float32(9)),
    chosen(without_score_threshold, V3, t=np.float32(-np.inf), constants=("t",)),
    chosen(without_score_threshold, V3, t=np.float32(-np.inf)),
    chosen(with_constant_overlap, V2, constants=("o",)),
    chosen(with_overlap_as_input, V1),
    chosen(with_any_score, V2),
    chosen(boxes_in_float32, V3.replace("{T=float32", "{T=float16, T_threshold=float16"), **HALF),
    chosen(
        boxes_in_float32,
        (V4 % PAD).replace("{T=float32", "{T=float16"),
        TWO,
        **{k: v for k, v in HALF.items() if k in "bc"},
    ),
    rule_case(filled_with_zeros, TRANSFORM % "", f=np.float32(0), constants=("f",), **IMAGE, atol=1e-5),
    rule_case(
        in_any_dimensions,
        "y = SpaceToBatch(x, p) {T=float32, block_size=2}",
        x=PLACES,
        p=np.int32([[0, 2], [1, 1]]),
    ),
    rule_case(
        in_any_dimensions,
        "y = BatchToSpace(x, p) {T=float32, block_size=2, Tidx=int64}",
        x=PLACES,
        p=np.int64([[0, 2], [1, 1]]),
    ),
    rule_case(
        in_two_dimensions,
        "y = SpaceToBatchND(x, k, p) {T=float32}",
        x=PLACES,
        k=np.int32([2, 2]),
        p=np.int32([[0, 2], [1, 1]]),
        constants=("k",),
    ),
    rule_case(
        in_two_dimensions,
        "y = BatchToSpaceND(x, k, p) {T=float32}",
        x=PLACES,
        k=np.int32([2, 2]),
        p=np.int32([[0, 2], [1, 1]]),
        constants=("k",),
    ),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@settings(max_examples=30)
@given(
    count=st.integers(0, 20),
    most=st.integers(0, 25),
    least=st.floats(0, 1, width=32),
    seed=st.integers(0, 99),
)
def test_the_same_boxes_are_chosen_above_any_score(count, most, least, seed):
    check(chosen(without_score_threshold, V3, m=np.int32(most), t=np.float32(least), **boxes(count, seed)))


REFUSED = [
    (without_soft_scores, V5 % "", "soft_nms_sigma is not constant", {}),
    (without_soft_scores, V5 % "", "soft_nms_sigma is 0.5", {"g": np.float32(0.5), "constants": ("g",)}),
    (soft_without_threshold, V5 % "", "soft_nms_sigma is 0 or not constant", {}),
    (with_constant_overlap, V2, "iou_threshold is not constant", {}),
    (boxes_in_float32, V3, "its numbers are float32 already", {}),
    (filled_with_zeros, TRANSFORM % "", "fill_value is not constant", {**IMAGE, "f": np.float32(0)}),
    (
        filled_with_zeros,
        TRANSFORM % ", fill_mode=REFLECT",
        "fill differently with REFLECT",
        {**IMAGE, "f": np.float32(0)},
    ),
    (
        filled_with_zeros,
        TRANSFORM % "",
        "fill_value is 3.0",
        {**IMAGE, "f": np.float32(3), "constants": ("f",)},
    ),
    (
        in_two_dimensions,
        "y = SpaceToBatchND(x, k, p) {T=float32}",
        "its block_shape is [2, 3]",
        {"x": PLACES, "k": np.int32([2, 3]), "p": np.int32([[0, 0], [0, 0]]), "constants": ("k",)},
    ),
]


@pytest.mark.parametrize(("rule", "text", "because", "inputs"), REFUSED, ids=[row[2] for row in REFUSED])
def test_stays_as_it_was(rule, text, because, inputs):
    assert_refuses(rule, text, because=because, **{**BOXES, **LIMITS, **inputs})


@pytest.mark.parametrize("target", ["tensorflow==1.4.1", "tensorflow==1.12.3"])
def test_boxes_reach_old_releases(target):
    inputs = {**BOXES, **LIMITS, "constants": ("g", "o")}
    check_chain(chain_case(V5 % PAD, fetches=THREE, **inputs), target)


def test_the_first_op_for_boxes_is_reached():
    inputs = {**BOXES, **{name: LIMITS[name] for name in "mot"}, "constants": ("o",)}
    check_chain(chain_case(V3, **inputs), "tensorflow==1.0.0")
