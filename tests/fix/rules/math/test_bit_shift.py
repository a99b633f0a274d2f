"""Bit shifts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import check, rule_case
from tests.runtime.cases import i32

from tfport.fix.rules.math.arithmetic import by_a_power, times_a_power, what_is_left_of_all_bits

KINDS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def shifted(rule, kind, x, y, **options):
    op = "LeftShift" if rule is times_a_power else "RightShift"
    return rule_case(rule, f"y = {op}(a, b) {{T={kind}}}", a=x, b=y, **options)


def ends(kind):
    info = np.iinfo(kind)
    return np.array([info.min, info.max, 0, 1, 77, info.max // 3], kind)[:, None]


CASES = [
    *[
        shifted(
            rule,
            kind,
            ends(kind),
            np.array([0, 1, 3, np.iinfo(kind).bits - 2, np.iinfo(kind).bits - 1], kind),
        )
        for rule in (times_a_power, by_a_power)
        for kind in KINDS
    ],
    *[rule_case(what_is_left_of_all_bits, f"y = Invert(a) {{T={kind}}}", a=ends(kind)) for kind in KINDS],
    shifted(times_a_power, "int32", i32(5, -5), i32(3), open=("a", "b")),
    shifted(times_a_power, "int32", i32(5, -5), i32(40, -1)),
    shifted(by_a_power, "int32", i32(5, -5), i32(40, -1)),
    shifted(by_a_power, "int64", np.zeros((0, 2), np.int64), np.int64(1)),
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize(
    "c", [c for c in CASES if "uint32" not in c.text and "uint64" not in c.text], ids=str
)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, **c.feeds))


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(KINDS[:6]), st.booleans(), st.data())
def test_any_integers(kind, left, data):
    info = np.iinfo(kind)
    x = data.draw(st.lists(st.integers(info.min, info.max), min_size=1, max_size=4))
    y = data.draw(st.integers(0, info.bits - 1))
    check(shifted(times_a_power if left else by_a_power, kind, np.array(x, kind), np.array(y, kind)))
