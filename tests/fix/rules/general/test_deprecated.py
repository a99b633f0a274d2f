"""Deprecated ops become their replacements; 2.21 rejects the old ones, so tfport runs them."""

import numpy as np
import pytest
from tests.fix.rule_cases import check, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.general.attributes import under_its_later_name

POSITIVE = np.float32([[[4, 1], [1, 3]], [[2, 0], [0, 5]]])
CASES = [
    *(
        rule_case(under_its_later_name, f"y = {op}(x) {{T=float32}}", answers="tfport", rtol=1e-5, x=POSITIVE)
        for op in ("BatchCholesky", "BatchMatrixDeterminant", "BatchMatrixInverse", "BatchMatrixDiag")
    ),
    rule_case(
        under_its_later_name,
        "y = BatchMatrixSolve(x, b) {T=float32, adjoint=true}",
        answers="tfport",
        rtol=1e-5,
        x=POSITIVE,
        b=numbers(2, 2, 3),
    ),
    rule_case(
        under_its_later_name,
        "y = BatchMatrixBandPart(x, l, u) {T=float32}",
        answers="tfport",
        x=numbers(2, 3, 3),
        l=np.int64(0),
        u=np.int64(1),
    ),
    rule_case(under_its_later_name, "y = BatchFFT(x)", answers="tfport", x=numbers(2, 4, kind=np.complex64)),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)
