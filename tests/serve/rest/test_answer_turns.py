"""Short answers leave turns of the event loop to everything else."""

import asyncio

import pytest

from tfport.serve.rest.answer_turns import PAUSE_SECONDS, TURN_SECONDS, AnswerTurns

TICK = "tick"


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Postponed:
    """A connection that notes its answer, which takes some time."""

    def __init__(self, name, order, clock, seconds):
        self.name, self.order, self.clock, self.seconds = name, order, clock, seconds

    def answer_held(self):
        self.order.append(self.name)
        self.clock.now += self.seconds


async def answered(names, seconds):
    """Return in which order connections are answered, with a tick before each iteration."""
    clock, order = Clock(), []
    turns = AnswerTurns(asyncio.get_running_loop(), clock)
    for name in names:
        turns.postpone(Postponed(name, order, clock, seconds))
    for _ in range(4):
        order.append(TICK)
        await asyncio.sleep(0)
    return order


def test_connections_are_answered_in_order_a_few_in_each_iteration():
    order = asyncio.run(answered("abcdefg", TURN_SECONDS * 0.4))
    assert order == [TICK, *"abc", TICK, *"def", TICK, "g", TICK]


def test_one_connection_is_answered_in_an_iteration_if_that_takes_long():
    assert asyncio.run(answered("ab", 3 * TURN_SECONDS)) == [TICK, "a", TICK, "b", TICK, TICK]


def test_a_turn_is_over_after_some_time_of_answers():
    async def check():
        clock = Clock()
        turns = AnswerTurns(asyncio.get_running_loop(), clock)
        for part in (0.3, 0.4, 0.4):
            assert not turns.is_over()
            clock.now += part * TURN_SECONDS
            turns.note_answer()
        assert turns.is_over()
        clock.now += PAUSE_SECONDS / 2
        assert turns.is_over()
        clock.now += PAUSE_SECONDS  # everything else had its turn
        assert not turns.is_over()

    asyncio.run(check())


def test_a_turn_is_over_while_others_wait():
    async def check():
        clock = Clock()
        turns = AnswerTurns(asyncio.get_running_loop(), clock)
        turns.postpone(Postponed("a", [], clock, 0))
        clock.now += 2 * PAUSE_SECONDS
        assert turns.is_over()
        await asyncio.sleep(0)
        assert not turns.is_over()

    asyncio.run(check())


@pytest.mark.parametrize("names", ["a", "abc"])
def test_a_connection_that_is_postponed_again_is_answered_once(names):
    async def check():
        clock, order = Clock(), []
        turns = AnswerTurns(asyncio.get_running_loop(), clock)
        connection = Postponed(names[0], order, clock, TURN_SECONDS)
        turns.postpone(connection)
        for name in names[1:]:
            turns.postpone(Postponed(name, order, clock, TURN_SECONDS))
        turns.postpone(connection)
        for _ in range(4):
            await asyncio.sleep(0)
        return order

    assert asyncio.run(check()) == list(names)
