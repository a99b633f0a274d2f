"""Plans for the value of a fed switch: which values are distinguished, and what the plans contain."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

from tfport.runtime.fed_tensor import FedValue, special_value
from tfport.runtime.plan_cache import MAX_SPECIAL_PLANS

TRAINING_BRANCH = """
    x = Placeholder() {dtype=float32, shape=(?,)}
    training = Placeholder() {dtype=bool, shape=()}
    switch = Switch(x, training) {T=float32}
    noisy = Neg(switch:1) {T=float32}
    exact = Square(switch:0) {T=float32}
    y = Merge(exact, noisy) {T=float32, N=2}
"""
SCALED = """
    x = Placeholder() {dtype=float32, shape=(?,)}
    factor = Placeholder() {dtype=float32}
    y = Mul(x, factor) {T=float32}
"""


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        ((), np.array(True), FedValue(True)),
        (None, np.array(False), FedValue(False)),
        ((), np.float32(1), FedValue(1.0)),
        ((), np.float64(0), FedValue(0.0)),
        ((), np.float32(0.5), None),
        ((), np.float32(np.nan), None),
        ((), np.int32(1), None),
        (None, np.float32([1]), None),
        ((1,), np.float32(1), None),
        ((), np.array(b"1", object), None),
    ],
)
def test_which_values_have_plans_of_their_own(declared, value, expected):
    assert special_value(declared, np.asarray(value)) == expected


def test_negative_zero_is_not_zero():
    session = session_of(SCALED)
    assert np.signbit(session.run("y:0", {"x:0": [2.0], "factor:0": -0.0})).tolist() == [True]
    assert np.signbit(session.run("y:0", {"x:0": [2.0], "factor:0": 0.0})).tolist() == [False]


def test_every_value_of_a_switch_has_its_own_answer():
    session = session_of(TRAINING_BRANCH)
    for training, expected in ((True, -3), (False, 9), (True, -3)):
        assert session.run("y:0", {"x:0": [3.0], "training:0": training}).tolist() == [expected]


def test_a_plan_for_a_value_has_no_branch_that_is_not_taken():
    session = session_of(TRAINING_BRANCH)
    session.run("y:0", {"x:0": [3.0], "training:0": False})
    assert [plan.ops for plan in session.plans.plans] == [["Square"]]


def test_other_values_share_a_plan():
    session = session_of(SCALED)
    answers = [session.run("y:0", {"x:0": [2.0], "factor:0": f}).tolist() for f in (0.0, 1.0, 0.5, 3.0)]
    assert answers == [[0], [2], [1], [6]]
    assert len(session.plans) == 3


def test_the_number_of_plans_is_bounded():
    count = 6
    names = [f"b{i}" for i in range(count)]
    lines = [f"{name} = Placeholder() {{dtype=bool, shape=()}}" for name in names]
    lines.append(f"y = Pack({', '.join(names)}) {{T=bool, N={count}, axis=0}}")
    session = session_of("\n".join(lines))
    for number in range(2**count):
        values = [bool(number >> i & 1) for i in range(count)]
        feeds = {f"{name}:0": value for name, value in zip(names, values, strict=True)}
        assert session.run("y:0", feeds).tolist() == values
    assert len(session.plans) == MAX_SPECIAL_PLANS + 1
