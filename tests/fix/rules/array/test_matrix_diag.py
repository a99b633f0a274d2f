"""Diagonals of matrices."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import boolean, f32, i32, numbers, scalar

from tfport.fix.rules.array.matrix_diag import (
    aligned_left,
    as_v3,
    band_by_place,
    diagonals_by_place,
    main_diagonal,
    main_diagonal_set,
    part_of_main_diagonal,
    read_by_place,
)

ALIGNS = ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT")


def make(rule, d, k, rows=-1, columns=-1, pad=0, align="RIGHT_LEFT", version=3, **options):
    options = {"constants": ("k", "r", "c", "p"), **options}
    attrs = f', align="{align}"' if version == 3 else ""
    kind = "bool" if d.dtype == bool else d.dtype.name
    text = f"y = MatrixDiagV{version}(d, k, r, c, p) {{T={kind}{attrs}}}"
    return rule_case(rule, text, d=d, k=k, r=scalar(rows), c=scalar(columns), p=d.dtype.type(pad), **options)


def read(rule, x, k, pad=0, align="RIGHT_LEFT", version=3, **options):
    options = {"constants": ("k", "p"), **options}
    attrs = f', align="{align}"' if version == 3 else ""
    text = f"y = MatrixDiagPartV{version}(x, k, p) {{T={x.dtype.name}{attrs}}}"
    return rule_case(rule, text, x=x, k=k, p=x.dtype.type(pad), **options)


def write(rule, x, d, k, align="RIGHT_LEFT", version=3, **options):
    options = {"constants": ("k",), **options}
    attrs = f', align="{align}"' if version == 3 else ""
    return rule_case(
        rule, f"y = MatrixSetDiagV{version}(x, d, k) {{T={x.dtype.name}{attrs}}}", x=x, d=d, k=k, **options
    )


CASES = [
    make(main_diagonal, numbers(2, 3), scalar(0)),
    make(main_diagonal, boolean(True, False), i32(0), 2, 2),
    make(diagonals_by_place, numbers(2, 3), scalar(0), pad=7),
    make(diagonals_by_place, numbers(2, 3), scalar(1), 4, 4, pad=np.nan),
    make(diagonals_by_place, f32(1, 2), scalar(-1)),
    make(diagonals_by_place, f32(1, 2), scalar(-1), 4, -1),
    make(diagonals_by_place, boolean(True, False), scalar(1)),
    *[make(diagonals_by_place, numbers(2, 3, 3), i32(-1, 1), align=a) for a in ALIGNS],
    make(diagonals_by_place, numbers(3, 3), i32(-1, 1), version=2),
    read(part_of_main_diagonal, numbers(2, 3, 4), scalar(0)),
    read(read_by_place, numbers(2, 3, 4), scalar(1), open=("x",)),
    read(read_by_place, numbers(3, 4), i32(-2, -2)),
    *[
        read(read_by_place, numbers(2, 3, 4), i32(-1, 2), pad=9, align=a, open=o)
        for a in ALIGNS
        for o in ((), ("x",))
    ],
    read(read_by_place, numbers(3, 3), i32(-1, 1), version=2),
    write(main_diagonal_set, numbers(2, 3, 4), numbers(2, 3, seed=1), scalar(0)),
    write(band_by_place, numbers(2, 3, 4), numbers(2, 3, seed=1), scalar(1), open=("x", "d")),
    *[write(band_by_place, numbers(2, 3, 4), numbers(2, 3, 3, seed=1), i32(-1, 1), align=a) for a in ALIGNS],
    write(band_by_place, numbers(3, 3), numbers(3, 3, seed=1), i32(-1, 1), version=2),
    rule_case(as_v3, "y = MatrixDiag(x) {T=float32}", x=numbers(2, 3)),
    rule_case(as_v3, "y = MatrixDiagPart(x) {T=float32}", x=numbers(2, 3, 4)),
    rule_case(as_v3, "y = MatrixSetDiag(x, d) {T=float32}", x=numbers(2, 3, 4), d=numbers(2, 3)),
    read(aligned_left, numbers(3, 4), i32(-1, 2), version=2),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("align", ALIGNS)
def test_diagonals_of_unknown_length(align):  # TensorFlow itself wants to know it while the graph is made
    check(make(diagonals_by_place, numbers(2, 3, 3), i32(-1, 1), align=align, open=("d",)))
    check(make(diagonals_by_place, numbers(2, 3), scalar(1), 4, 4, open=("d",)))


def refuses(c, because):
    assert_refuses(c.rule, c.text, because=because, constants=c.constants, **c.feeds)


def test_refuses():
    refuses(make(main_diagonal, f32(1, 2), scalar(1)), "diagonals 1 to 1")
    refuses(make(main_diagonal, f32(1, 2), scalar(0), 3, 3), "[3, 3]")
    refuses(make(main_diagonal, f32(1, 2), scalar(0), pad=1), "pad with zeros")
    refuses(make(diagonals_by_place, f32(1, 2), scalar(1), constants=()), "k is not constant")
    refuses(make(diagonals_by_place, f32(1, 2), i32(1, 0)), "k is [1, 0]")
    refuses(read(part_of_main_diagonal, numbers(3, 3), i32(0, 1)), "diagonals 0 to 1")
    refuses(write(main_diagonal_set, numbers(3, 3), numbers(2), scalar(1)), "diagonals 1 to 1")


@pytest.mark.parametrize("c", [c for c in CASES if c.rule is not as_v3], ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, constants=c.constants, **c.feeds))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(-3, 3), st.integers(0, 3), st.sampled_from(ALIGNS))
def test_any_band(rows, columns, low, more, align):
    high = low + more
    assume(-rows < low and high < columns)
    x = numbers(2, rows, columns)
    check(read(read_by_place, x, i32(low, high), pad=5, align=align))
    longest = min(rows + min(high, 0), columns - max(low, 0))
    diagonals = numbers(2, more + 1, longest, seed=1) if more else numbers(2, longest, seed=1)
    check(write(band_by_place, x, diagonals, i32(low, high), align=align, open=("x",)))
    check(make(diagonals_by_place, diagonals, i32(low, high), rows, columns, pad=3, align=align))
