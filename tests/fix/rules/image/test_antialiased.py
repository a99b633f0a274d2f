"""ScaleAndTranslate by gathers."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, i32, numbers

from tfport.fix.rules.image.antialiased import sampled_by_gather
from tfport.runtime.ops.image.sampling_kernels import KERNELS

TEXT = "y = ScaleAndTranslate(x, n, s, m) {T=%s, kernel_type=%s, antialias=%s}"
IMAGE = numbers(2, 9, 7, 3, seed=4) * 100
SMALLER = {"n": i32(4, 3), "s": f32(4 / 9, 3 / 7), "m": f32(0, 0)}
LARGER = {"n": i32(13, 20), "s": f32(1.5, 2.6), "m": f32(-1.5, 4)}
MOVED = {"n": i32(9, 8), "s": f32(0.7, 1.1), "m": f32(6, -30)}
CLOSE = {"rtol": 2e-6, "atol": 2e-4}
CASES = [
    *(
        rule_case(sampled_by_gather, TEXT % ("float32", kernel, antialias), x=IMAGE, **where, **CLOSE)
        for kernel in KERNELS
        for where, antialias in ((SMALLER, "true"), (SMALLER, "false"), (LARGER, "true"))
    ),
    rule_case(sampled_by_gather, TEXT % ("float32", "lanczos3", "true"), x=IMAGE, **MOVED, **CLOSE),
    rule_case(
        sampled_by_gather,
        TEXT % ("uint8", "triangle", "true"),
        x=IMAGE.astype(np.uint8),
        open=("x", "n"),
        **SMALLER,
        **CLOSE,
    ),
    rule_case(sampled_by_gather, TEXT % ("float32", "box", "true"), x=IMAGE[:0], open=("x",), **SMALLER),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_the_oldest_target_resizes_with_antialias():
    check_chain(chain_case(TEXT % ("float32", "keyscubic", "true"), x=IMAGE, **SMALLER, **CLOSE))


def test_refuses_a_kernel_that_tensorflow_does_not_have():
    text = TEXT % ("float32", "welch", "true")
    assert_refuses(sampled_by_gather, text, because="kernel_type welch is unknown", x=IMAGE, **SMALLER)
