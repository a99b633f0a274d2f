"""ToBool."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, i32

from tfport.fix.rules.control import not_zero_or_not_empty

SCALARS = [np.float32(0), np.float32(-0.0), np.float32(np.nan), np.int64(7), np.bool_(True), np.bool_(False)]
CASES = [
    *[
        rule_case(not_zero_or_not_empty, f"y = ToBool(x) {{T={x.dtype.name}}}", x=np.asarray(x))
        for x in SCALARS
    ],
    rule_case(not_zero_or_not_empty, "y = ToBool(x) {T=float32}", x=f32()),
    rule_case(not_zero_or_not_empty, "y = ToBool(x) {T=float32}", x=f32(0), open=("x",)),
    rule_case(not_zero_or_not_empty, "y = ToBool(x) {T=string}", x=np.array(b"", object)),
    rule_case(not_zero_or_not_empty, "y = ToBool(x) {T=string}", x=np.array(b"a", object)),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, **c.feeds))


def test_scalars_are_known_to_be_such():
    text = "r = Reshape(x, s) {T=float32}\ny = ToBool(r) {T=float32}"
    assert_refuses(not_zero_or_not_empty, text, because="rank of its tensor", x=f32(1), s=i32(1), open=("s",))
