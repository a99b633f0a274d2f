"""Tridiagonal matrices by older ops."""

import numpy as np
import pytest
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.math.matmul import solved_as_dense, three_products

PRODUCT = "y = TridiagonalMatMul(u, m, l, x) {T=%s}"
SOLVE = "y = TridiagonalSolve(d, x) {T=%s, partial_pivoting=%s}"


def diagonals(*batch, size=5, kind=np.float32):
    """With a main diagonal that dominates, and ignored elements that would spoil the result."""
    made = np.array(numbers(*batch, 3, size, kind=kind) / 8)
    made[..., 1, :] += 3
    made[..., 0, -1] = made[..., 2, 0] = np.nan
    return made


def product(*batch, size=5, columns=2, kind=np.float32, **options):
    d = diagonals(*batch, size=size, kind=kind)
    u, m, low = (d[..., i : i + 1, :] for i in range(3))
    x = numbers(*batch, size, columns, kind=kind)
    return rule_case(three_products, PRODUCT % np.dtype(kind).name, u=u, m=m, l=low, x=x, **options)


def solve(*batch, size=5, columns=2, kind=np.float32, pivot="true", **options):
    x = numbers(*batch, size, columns, kind=kind)
    d = diagonals(*batch, size=size, kind=kind)
    return rule_case(solved_as_dense, SOLVE % (np.dtype(kind).name, pivot), d=d, x=x, rtol=1e-5, **options)


CASES = [
    product(), product(2), product(2, 3, size=3), product(size=1), product(kind=np.float64),
    solve(), solve(2), solve(2, 3, size=3), solve(size=1), solve(kind=np.float64), solve(2, pivot="false"),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_refuses():
    text = SOLVE.replace("=%s}", "=true, perturb_singular=true}") % "float32"
    assert_refuses(solved_as_dense, text, because="singular", d=diagonals(), x=numbers(5, 1))
    d, x = np.ones((3, 3000), np.float32), np.ones((3000, 1), np.float32)
    assert_refuses(solved_as_dense, SOLVE % ("float32", "true"), because="3000 rows", d=d, x=x)
