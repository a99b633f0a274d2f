"""Short answers leave turns of the event loop to everything else."""

import asyncio

import pytest

from tfport.serve.rest.answer_turns import MOST_AT_ONCE, AnswerTurns

TICK = "tick"


class Postponed:
    """A connection that notes its answer."""

    def __init__(self, name, turns, order):
        self.name, self.turns, self.order = name, turns, order

    def answer_held(self):
        self.order.append(self.name)
        self.turns.count()


async def iterations(count):
    for _ in range(count):
        await asyncio.sleep(0)


def test_connections_are_answered_in_order_a_few_in_each_iteration():
    async def check():
        turns, order = AnswerTurns(asyncio.get_running_loop()), []
        for name in range(2 * MOST_AT_ONCE + 1):
            turns.postpone(Postponed(name, turns, order))
        for _ in range(4):
            order.append(TICK)
            await asyncio.sleep(0)
        return order

    first, second, last = range(MOST_AT_ONCE), range(MOST_AT_ONCE, 2 * MOST_AT_ONCE), [2 * MOST_AT_ONCE]
    assert asyncio.run(check()) == [TICK, *first, TICK, *second, TICK, *last, TICK]


def test_a_turn_is_over_after_some_answers_and_while_others_wait():
    async def check():
        turns = AnswerTurns(asyncio.get_running_loop())
        for _ in range(MOST_AT_ONCE):
            assert not turns.is_over
            turns.count()
        assert turns.is_over
        await iterations(1)
        assert not turns.is_over
        turns.postpone(Postponed("a", turns, []))
        assert turns.is_over
        await iterations(2)
        assert not turns.is_over

    asyncio.run(check())


@pytest.mark.parametrize("times", [1, 3])
def test_a_connection_that_is_postponed_again_is_answered_once(times):
    async def check():
        turns, order = AnswerTurns(asyncio.get_running_loop()), []
        connection = Postponed("a", turns, order)
        for _ in range(times):
            turns.postpone(connection)
        await iterations(4)
        return order

    assert asyncio.run(check()) == ["a"]
