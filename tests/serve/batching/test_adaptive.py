"""Short calls run alone where a batch costs more, and the answers are the same."""

from __future__ import annotations

import asyncio
import threading
from itertools import count

import numpy as np
import pytest
from tests.serve.batching.batched_models import call_all, listed, parse_parameters, rows, session_of

from tfport.serve.batching.adaptive import (
    FIRST_SINGLES,
    HOP,
    LONGEST_ROUND,
    ROUND,
    SINGLES,
    TRIED,
    AdaptiveRunner,
    CallCosts,
)
from tfport.serve.batching.runner import Batching
from tfport.serve.light_calls import LIGHT_SECONDS, SHORT_CALLS, LightCalls
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.servable import Servable
from tfport.serve.status import StatusCode
from tfport.serve.thread_shares import CallThreads

DOUBLED = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    two = Const() {dtype=float32, value=float32()[2]}
    y = Mul(x, two) {T=float32}
"""


def test_a_call_that_costs_less_than_a_batch_adds_runs_alone():
    costs = CallCosts()
    costs.ran_in_batch(64, 64e-6)
    costs.ran_in_batch(1, HOP / 2)
    assert all(costs.alone_pays() for _ in range(2 * ROUND))


def test_calls_that_are_cheaper_together_are_batched_while_there_are_several():
    costs = CallCosts()
    costs.ran_in_batch(1, 4 * HOP)
    costs.ran_in_batch(8, 8 * HOP)
    assert not any(costs.alone_pays() for _ in range(2 * ROUND))
    for _ in range(SINGLES):
        costs.ran_in_batch(1, 4 * HOP)
    assert sum(costs.alone_pays() for _ in range(ROUND)) == ROUND - TRIED  # some try whether there are others


def test_calls_that_are_not_cheaper_together_run_alone():
    costs = CallCosts()
    costs.ran_in_batch(1, 4 * HOP)
    costs.ran_in_batch(2, 7 * HOP)
    assert sum(costs.alone_pays() for _ in range(ROUND)) == ROUND - TRIED


def test_trials_without_success_become_rare():
    costs, batched = CallCosts(), 0
    costs.ran_in_batch(1, 4 * HOP)
    for _ in range(40 * ROUND):
        if not costs.alone_pays():
            batched += 1
            costs.ran_in_batch(2, 7 * HOP)
    assert batched <= 6 * TRIED  # it was 40 times


def test_a_trial_ends_when_no_call_has_company():
    costs, batched = CallCosts(), 0
    for _ in range(ROUND):
        if costs.alone is None or not costs.alone_pays():
            batched += 1
            costs.ran_in_batch(1, 4 * HOP)
    assert batched == FIRST_SINGLES


def test_trials_are_frequent_again_after_a_success():
    costs = CallCosts()
    costs.ran_in_batch(1, 4 * HOP)
    costs.ran_in_batch(2, 7 * HOP)
    for _ in range(2 * LONGEST_ROUND):
        costs.alone_pays()
    for _ in range(SINGLES):  # an average of so many
        costs.ran_in_batch(8, 8 * HOP)
    assert not costs.alone_pays()
    for _ in range(SINGLES):
        costs.ran_in_batch(1, 4 * HOP)
    tried = [not costs.alone_pays() for _ in range(3 * ROUND)]
    assert sum(tried[:ROUND]) == TRIED
    assert sum(tried[ROUND:]) == TRIED


class Counted:
    """A servable with a clock that measures every call as equally long, and the threads of its runs."""

    def __init__(self, seconds: float, text: str = "max_batch_size { value: 4 }") -> None:
        session = session_of(DOUBLED, {"x": "x:0"}, {"y": "y:0"})
        steps = count()
        light = LightCalls(session, lambda: next(steps) * seconds)
        batched = Batching(parse_parameters(text), metrics=Metrics(process=False)).runner("m", 1)
        assert batched is not None
        self.runner = AdaptiveRunner(batched, CallThreads(1), light)
        self.servable = Servable("m", 1, session, self.runner)
        self.here: list[bool] = []
        run = session.run

        def noted(*args, **options):
            self.here.append(threading.current_thread() is threading.main_thread())
            return run(*args, **options)

        session.run = noted

    async def call(self, *arrays):
        return await call_all(self.servable, *arrays)

    async def learn(self) -> None:
        for _ in range(2 * SHORT_CALLS):
            await self.call(rows(1))


def test_short_calls_run_in_the_event_loop_with_the_same_answers():
    model = Counted(HOP / 2)

    async def test():
        await model.learn()
        assert model.here[0] is False
        assert model.here[-1] is True
        model.here.clear()
        return await model.call(rows(1), rows(2), rows(3))

    assert listed(asyncio.run(test())) == [[[2]], [[4]], [[6]]]
    assert model.here == [True] * 3
    signature = model.servable.signatures["serving_default"]
    assert model.servable.has_light_calls
    assert model.servable.predict_at_once(signature, {"x": rows(4)})["y"].tolist() == [[8]]


def test_long_calls_are_batched():
    model = Counted(2 * LIGHT_SECONDS)

    async def test():
        await model.learn()
        model.here.clear()
        return await model.call(rows(1), rows(2), rows(3))

    assert listed(asyncio.run(test())) == [[[2]], [[4]], [[6]]]
    assert model.here == [False]
    assert not model.servable.has_light_calls


def test_calls_that_are_cheaper_in_batches_are_batched():
    model = Counted(3 * HOP)

    async def test():
        for _ in range(2 * SHORT_CALLS):
            await model.call(*[rows(1)] * 4)
        model.here.clear()
        await model.call(*[rows(1)] * 4)

    asyncio.run(test())
    assert model.here == [False]


@pytest.mark.parametrize("seconds", [HOP / 2, 2 * LIGHT_SECONDS])
def test_the_largest_batch_is_a_limit_for_all(seconds):
    model = Counted(seconds)

    async def test():
        await model.learn()
        for _ in range(2 * SHORT_CALLS):
            (error,) = await model.call(rows(*range(5)))
            assert error.code is StatusCode.INVALID_ARGUMENT
            assert error.message == "Task size 5 is larger than maximum input batch size 4"

    asyncio.run(test())


def test_rows_of_front_ends_join_as_in_batches():
    model = Counted(HOP / 2)
    signature = model.servable.signatures["serving_default"]
    assert model.servable.joins(signature, {"x": np.ones((2, 1), np.float32)}, ["y"])
