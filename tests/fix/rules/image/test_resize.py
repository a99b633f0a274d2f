"""Image resizing with half_pixel_centers, by gathers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.image.resize import bicubic_by_gather, bilinear_by_gather, nearest_by_gather

RULES = {
    "ResizeNearestNeighbor": nearest_by_gather,
    "ResizeBilinear": bilinear_by_gather,
    "ResizeBicubic": bicubic_by_gather,
}
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


def line(op, kind="float32", attrs=""):
    return f"y = {op}(x, s) {{T={kind}, half_pixel_centers=true{attrs}}}"


def resized(op, x, size, kind="float32", **options):
    return rule_case(RULES[op], line(op, kind), x=x, s=np.int32(size), **{**CLOSE, **options})


X = numbers(2, 5, 7, 3)
KNOWN, OPEN = {"constants": ("s",)}, {"open": ("x",)}
CASES = [
    *(
        resized(op, X, size, **options)
        for op in RULES
        for size in ([10, 3], [5, 7], [1, 1], [13, 20])
        for options in (KNOWN, OPEN)
    ),
    *(resized(op, (X * 50 + 100).astype(np.uint8), [4, 9], "uint8", **KNOWN) for op in RULES),
    *(resized(op, X.astype(np.float16), [4, 9], "float16", **KNOWN) for op in RULES),
    *(resized(op, X[:, :1, :1], [3, 2], **KNOWN) for op in RULES),
    *(resized(op, X[:0], [3, 2], **OPEN) for op in RULES),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@settings(max_examples=40)
@given(st.sampled_from(list(RULES)), *[st.integers(1, 12)] * 4)
def test_any_size_becomes_any_other(op, high, wide, rows, columns):
    check(resized(op, numbers(1, high, wide, 2), [rows, columns], **KNOWN, rtol=1e-4, atol=1e-4))


REFUSED = [
    ("y = ResizeBilinear(x, s) {T=float32}", "half_pixel_centers is false"),
    (
        line("ResizeBilinear", attrs=", align_corners=true"),
        "kernels do not support half_pixel_centers with align_corners",
    ),
]


@pytest.mark.parametrize(("text", "because"), REFUSED, ids=[row[1] for row in REFUSED])
def test_stays_as_it_was(text, because):
    assert_refuses(bilinear_by_gather, text, because=because, x=X, s=np.int32([1, 2]))


@pytest.mark.parametrize("op", RULES)
@pytest.mark.parametrize("options", [KNOWN, OPEN], ids=["known", "open"])
def test_reaches_the_oldest_release(op, options):
    check_chain(chain_case(line(op), x=X, s=np.int32([9, 4]), **options, **CLOSE))
