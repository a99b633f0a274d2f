"""Projective transforms by gathers."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, i32, numbers, wrapped

from tfport.fix.rules.image.projection import projected_by_gather

V2 = "y = ImageProjectiveTransformV2(x, t, s) {dtype=%s, interpolation=%r, fill_mode=%r}"
V3 = "y = ImageProjectiveTransformV3(x, t, s, v) {dtype=%s, interpolation=%r, fill_mode=%r}"
IMAGE = numbers(2, 6, 5, 3, seed=4) * 100
TWO = f32([1, 0, 0, 0, 1, 0, 0, 0], [0.9, 0.2, -1.3, -0.1, 1.1, 0.6, 0.01, 0.02])
TURNED = f32([0.5, -0.8, 3, 0.8, 0.5, -4, 0, 0])
HALVES = f32([1, 0, -0.5, 0, 1, 0.5, 0, 0])
VANISHING = f32([1, 0, 0, 0, 1, 0, -0.5, 0])
FAR = f32([40, -30, -300, 25, 50, 200, 0, 0])


def quoted(text, kind, how, fill):
    return (text % (kind, how, fill)).replace("'", '"')


def v2(kind, how, fill, **inputs):
    return rule_case(projected_by_gather, quoted(V2, kind, how, fill), **inputs)


def v3(how, fill, value, **inputs):
    return rule_case(projected_by_gather, quoted(V3, "float32", how, fill), v=np.float32(value), **inputs)


HOW = ("NEAREST", "BILINEAR")
CASES = [
    *(
        v3(how, fill, 2.5, x=IMAGE, t=t, s=i32(7, 4))
        for t in (TWO, TURNED, HALVES, FAR)
        for how in HOW
        for fill in ("CONSTANT", "REFLECT", "WRAP", "NEAREST")
    ),
    *(v3(how, "CONSTANT", -1, x=IMAGE, t=VANISHING, s=i32(3, 6)) for how in HOW),
    *(
        v2(kind, how, "CONSTANT", x=wrapped(IMAGE, kind), t=TWO, s=i32(5, 5))
        for kind in ("uint8", "int32", "int64", "float16", "float64")
        for how in HOW
    ),
    v2("float32", "BILINEAR", "REFLECT", x=IMAGE, t=TURNED, s=i32(5, 5), open=("x", "t", "s")),
    v2("float32", "BILINEAR", "NEAREST", x=IMAGE[:0], t=TURNED, s=i32(5, 5), open=("x",)),
    v2("float32", "NEAREST", "REFLECT", x=IMAGE[:, :1, :1], t=FAR, s=i32(2, 3)),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_refuses_what_no_kernel_has():
    text = quoted(V2, "float32", "CUBIC", "REFLECT")
    assert_refuses(projected_by_gather, text, because="interpolation is CUBIC", x=IMAGE, t=TWO, s=i32(5, 5))


@pytest.mark.parametrize("how", HOW)
def test_the_oldest_target_projects_images(how):
    text = quoted(V3, "float32", how, "REFLECT")
    check_chain(chain_case(text, x=IMAGE, t=TWO, s=i32(7, 4), v=np.float32(2.5)))
