"""In-place updates of rows."""

import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, i32, numbers

from tfport.fix.rules.array.gather import added_at_once, filled, handed_on, rows_combined, rows_stitched

ROWS = "c = DeepCopy(x) {T=float32}\ny = %s(c, i, v) {T=float32}"
CASES = [
    rule_case(rows_stitched, ROWS % "InplaceUpdate", x=numbers(3, 2), i=i32(2, 0), v=numbers(2, 2, seed=1)),
    rule_case(rows_stitched, ROWS % "InplaceUpdate", x=numbers(3, 2), i=i32(1), v=f32([1, -0.0]),
              open=("x",)),
    rule_case(rows_combined, ROWS % "InplaceAdd", x=numbers(3, 2), i=i32(1), v=f32([1, 2])),
    rule_case(rows_combined, ROWS % "InplaceSub", x=numbers(3), i=i32(2), v=f32(5), open=("x",)),
    rule_case(filled, "y = Empty(s) {dtype=float32, init=true}", s=i32(2, 3)),
    rule_case(filled, "y = Empty(s) {dtype=int64, init=true}", s=i32()),
    rule_case(handed_on, "y = DeepCopy(x) {T=float32}", x=numbers(2)),
    rule_case(added_at_once, "y = AccumulateNV2(x, z) {T=float32, N=2, shape=(2,)}", x=numbers(2),
              z=numbers(2, seed=1),
              answers="tfport"),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", [c for c in CASES if "Inplace" not in c.text], ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, **c.feeds))


def test_refuses():
    inputs = {"x": numbers(3, 2), "i": i32(1, 1), "v": numbers(2, 2)}
    assert_refuses(rows_combined, ROWS % "InplaceAdd", because="may update the same row", **inputs)
    assert_refuses(
        rows_stitched,
        ROWS % "InplaceUpdate" + "\nz = Neg(c) {T=float32}",
        because="has other readers",
        **inputs,
    )
    assert_refuses(handed_on, ROWS % "InplaceUpdate", because="in place", **inputs)
