"""Ops that pass their input through."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import check, rule_case
from tests.runtime.cases import f32, i32, strings

from tfport.fix.rules.array.broadcast import as_identity, one_identity_each, without_looking_at_the_shape

TWO = "y = %s(a, b) {T=[float32, int32]}"
CASES = [
    rule_case(as_identity, "y = Snapshot(x) {T=float32}", x=f32(1, -0.0)),
    rule_case(as_identity, "y = GuaranteeConst(x) {T=float32}", x=f32(1, np.nan)),
    rule_case(as_identity, "y = StopGradient(x) {T=string}", x=strings("a")),
    rule_case(as_identity, "y = PreventGradient(x) {T=int32}", x=i32(1)),
    rule_case(
        without_looking_at_the_shape, "y = EnsureShape(x) {T=float32, shape=(?,)}", x=f32(1, 2), open=("x",)
    ),
    rule_case(one_identity_each, TWO % "IdentityN", fetches=["y:0", "y:1"], a=f32(1), b=i32(2)),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, fetches=c.fetches, open=c.open, **c.feeds))
