"""The plans of a session: what displaces what when there are too many."""

import numpy as np
from tests.runtime.programs import session_of

from tfport.runtime.fed_tensor import FedValue
from tfport.runtime.plan_cache import MAX_PLANS, MAX_SPECIAL_PLANS, PlanCache, PlanKey

SWITCH = """
    x = Placeholder() {dtype=float32}
    keep = Placeholder() {dtype=float32, shape=()}
    y = Mul(x, keep) {T=float32}
"""

GROUPS = """
    x = Placeholder() {dtype=float32, shape=(?, ?, ?, ?)}
    w = Const() {dtype=float32, value=float32(1, 1, 2, 4)[1, 2, 3, 4, 5, 6, 7, 8]}
    y = Conv2D(x, w) {T=float32, strides=[1, 1, 1, 1], padding="SAME"}
"""


def key(name="y:0", *, rank=None, value=None):
    return PlanKey((name,), ("x:0",), (rank,), (None if value is None else FedValue(value),))


def full(keys):
    cache = PlanCache()
    for each in keys:
        cache.add(each, None, 0)
    return cache


def test_what_a_plan_assumes():
    assert key().assumed == [None]
    assert key(rank=2).assumed == [2]
    assert key(rank=0, value=True).assumed == [FedValue(True)]
    assert key(rank=0, value=True).for_any_value() == key(rank=0)


def test_a_plan_is_valid_for_one_version_of_the_state():
    cache, plan = PlanCache(), object()
    cache.add(key(), plan, 3)
    assert cache.get(key(), 3) is plan
    assert cache.get(key(), 4) is None
    cache.add(key(), plan, 4)
    assert len(cache) == 1


def test_another_value_uses_the_plan_for_any_value_when_there_are_too_many():
    cache = full(key(value=float(i)) for i in range(MAX_SPECIAL_PLANS - 1))
    assert cache.admitted(key(value=-1.0)) == key(value=-1.0)
    cache.add(key(rank=3), None, 0)
    assert cache.admitted(key(value=-1.0)) == key()
    assert cache.admitted(key(value=0.0)) == key(value=0.0)


def test_another_rank_displaces_the_plan_that_was_not_used_for_longest():
    cache = full(key(rank=i) for i in range(MAX_SPECIAL_PLANS))
    cache.add(key(), object(), 0)
    cache.get(key(rank=0), 0)
    assert cache.admitted(key(rank=99)) == key(rank=99)
    cache.add(key(rank=99), object(), 0)
    kept = [rank for rank in range(MAX_SPECIAL_PLANS) if key(rank=rank) in cache._cached]
    assert kept == [0, *range(2, MAX_SPECIAL_PLANS)]
    assert len(cache) == MAX_SPECIAL_PLANS + 1


def test_the_number_of_fetches_is_bounded():
    cache = full(key(f"y{i}:0") for i in range(MAX_PLANS + 3))
    assert len(cache) == MAX_PLANS
    assert key("y2:0") not in cache._cached


def test_ranks_and_values_share_one_bound():
    session = session_of(SWITCH)
    for rank in range(MAX_SPECIAL_PLANS + 4):
        for keep in (0.0, 1.0, 2.0):
            answer = session.run("y:0", {"x:0": np.full((1,) * rank, 3, np.float32), "keep:0": keep})
            assert answer.tolist() == np.full((1,) * rank, 3 * keep).tolist()
    assert len(session.plans) <= MAX_SPECIAL_PLANS + 1


def test_inputs_that_the_engine_refused_have_one_plan_on_the_host():
    session = session_of(GROUPS)
    x = np.ones((1, 8, 8, 4), np.float32)
    first = session.run("y:0", {"x:0": x})
    plans = session.plans.plans
    assert [key.on_host for key in session.plans.keys] == [False, True]
    np.testing.assert_array_equal(session.run("y:0", {"x:0": x}), first)
    assert session.plans.plans == plans


def test_plans_on_the_host_are_bounded():
    cache = full(key(f"y:{i}")._replace(on_host=True) for i in range(2 * MAX_SPECIAL_PLANS))
    assert len(cache) == MAX_SPECIAL_PLANS
