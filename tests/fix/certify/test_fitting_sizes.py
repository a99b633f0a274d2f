"""Sizes into which every window of a model fits."""

from __future__ import annotations

import pytest
from tests.fix.certify.models import frozen

from tfport.fix.certify.trial_plan import FittingSizes
from tfport.fix.certify.trials import TrialBuilder
from tfport.fix.certify.verification import ALIKE
from tfport.fix.certify.verify import verify
from tfport.runtime.select_signature import select_signature

FILTER = """
    one = Const() {dtype=float32, value=float32()[1]}
    sizes = Const() {dtype=int32, value=int32(4,)[1, 300, 1, 1]}
    w = Fill(sizes, one) {T=float32, index_type=int32}
    axis = Const() {dtype=int32, value=int32()[1]}
"""
VALID = '{T=float32, strides=[1, 1, 1, 1], padding="VALID"}'
NEEDS_MORE = {  # the model, and which sizes are the smallest that fit
    "a long filter": (
        f"x = Placeholder() {{dtype=float32, shape=(?, ?, 1)}}\n{FILTER}"
        f"e = ExpandDims(x, axis) {{T=float32, Tdim=int32}}\ny = Conv2D(e, w) {VALID}",
        (1, 300),
    ),
    "a sound without a batch": (
        f"x = Placeholder() {{dtype=float32, shape=(?,)}}\n{FILTER}"
        "four = Const() {dtype=int32, value=int32(4,)[1, 1, -1, 1]}\n"
        f"e = Reshape(x, four) {{T=float32, Tshape=int32}}\ny = Conv2D(e, w) {VALID}",
        (300, 300),
    ),
}


@pytest.mark.parametrize("what", NEEDS_MORE)
def test_sizes_grow_until_every_window_fits(what):
    text, (rows, other) = NEEDS_MORE[what]
    model = frozen(text)
    sizes = FittingSizes(TrialBuilder(model, select_signature(model)))
    assert not [sizing for sizing in sizes.usual if sizes.fit(sizing)]
    smallest, *more = sizes.larger()
    assert rows <= smallest.rows <= rows * 4 / 3
    assert other <= smallest.other <= other * 4 / 3
    assert len(more) == 2
    assert all(map(sizes.fit, more))


def test_a_model_with_long_windows_is_compared():
    text, _ = NEEDS_MORE["a long filter"]
    verification = verify(frozen(text), frozen(text))
    assert verification.verdict == ALIKE
    assert verification.comparisons[0].answered >= 10


@pytest.mark.parametrize(
    "shape", ["(?, ?, ?, 1)", "(1, 4, 4, 1)"], ids=["larger than any input may be", "all sizes known"]
)
def test_the_search_ends(shape):
    model = frozen(f"""
        x = Placeholder() {{dtype=float32, shape={shape}}}
        y = MaxPool(x) {{T=float32, ksize=[1, 9000, 9000, 1], strides=[1, 1, 1, 1], padding="VALID"}}
    """)
    sizes = FittingSizes(TrialBuilder(model, select_signature(model)))
    assert not [sizing for sizing in sizes.usual if sizes.fit(sizing)]
    assert not list(sizes.larger())


def test_unusual_sizes_have_few_elements():
    model = frozen("x = Placeholder() {dtype=int32, shape=(?, ?)}\ny = Identity(x) {T=int32}")
    sizes = FittingSizes(TrialBuilder(model, select_signature(model)))
    assert max(sizing.rows * sizing.other for sizing in sizes.unusual) == 4000


def test_huge_rows_are_few():
    model = frozen("x = Placeholder() {dtype=float32, shape=(?, 2048, 2048, 1)}\ny = Neg(x) {T=float32}")
    sizes = FittingSizes(TrialBuilder(model, select_signature(model, None)))
    assert [sizing.rows for sizing in sizes.usual] == [1, 2]
