"""Special functions by formulas."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import rule_case
from tests.runtime.cases import f16

from tfport.fix.rules.math.arithmetic import by_its_formula
from tfport.runtime.ops.math.series.formulas import FORMULAS

EDGES = (
    0,
    -0.0,
    1,
    -1,
    2,
    -2,
    3.25,
    5,
    6.25,
    8,
    64,
    91,
    -91,
    710,
    40_000,
    1e10,
    -1e10,
    np.inf,
    -np.inf,
    np.nan,
)
WIDE = np.concatenate(
    [EDGES, np.linspace(-12, 12, 97), np.geomspace(1e-9, 1e6, 61), 1 - np.geomspace(1e-7, 0.5, 31)]
)
TYPES = {
    "float32": (3e-6, list(FORMULAS)),
    # those that have other terms in float64
    "float64": (2e-13, ["BesselI1", "BesselJ0", "BesselJ1", "BesselK0e", "BesselY0", "BesselY1", "Ndtri"]),
}
CASES = [
    rule_case(by_its_formula, f"y = {op}(x) {{T={kind}}}", x=WIDE.astype(kind), rtol=close, atol=close)
    for kind, (close, ops) in TYPES.items()
    for op in ops
] + [
    rule_case(
        by_its_formula, "y = BesselK1(x) {T=float16}", x=f16(0, 0.3, 2, 7, -1, np.inf, np.nan), rtol=1e-3
    ),
    rule_case(by_its_formula, "y = Ndtri(x) {T=float32}", x=np.float32(0.3)),
    rule_case(by_its_formula, "y = Expint(x) {T=float32}", x=np.zeros((0, 2), np.float32)),
    rule_case(by_its_formula, "y = Spence(x) {T=float32}", x=np.full((2, 3), 0.7, np.float32), open=("x",)),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay_on_the_oldest_target(c):
    assert check_chain(chain_case(c.text, open=c.open, rtol=c.rtol, atol=c.atol, **c.feeds)) == [
        "by_its_formula"
    ]
