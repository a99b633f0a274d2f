"""The formulas of special functions where only the kernel's own formula gives its answers."""

import pytest
from tests.runtime.cases import case, check, checks, f32, f64

from tfport.runtime.ops.math.series.formulas import FORMULAS

FAR = (
    1e-30,
    -1e-8,
    3e-4,
    0.25,
    0.93,
    0.9999999,
    1.6,
    2.5,
    4.7,
    17,
    50,
    70,
    91,
    -91,
    640.5,
    -4361.37,
    31570196,
    1e10,
)
"""Cancellation near 0 and 1, overflow of exp, phases that float32 does not resolve."""
ENDS = (-1e10, 8, 6.25, 5, 3.25)
CASES = [
    *(case(op, f32(*FAR, *ENDS)) for op in FORMULAS),
    *(case(op, f64(*FAR, *ENDS, 709.5, 712, 1e-300), rtol=1e-13) for op in FORMULAS),
    case("Ndtri", f32()),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES, without="engine"))
def test_formulas(c, ways):
    check("formulas", c, ways)
