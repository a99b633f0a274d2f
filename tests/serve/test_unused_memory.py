"""When a server returns memory, and that it then has it no more."""

import asyncio
import weakref

import pytest

from tfport.serve.unused_memory import (
    GROWTH,
    HEAP_GROWTH,
    KEPT_CHECKS,
    MOST_CHECKS,
    UnusedMemory,
    resident_bytes,
)


class Process:
    """Memory in units of what is worth returning: `needed` is in use, the rest can be returned."""

    def __init__(self) -> None:
        self.needed, self.unused, self.heaps, self.seconds = 1.0, 0.0, 0.0, 0.0
        self.given = self.heaps_given = 0
        self.memory = UnusedMemory(self.give, self.give_heaps, self.resident, lambda: self.seconds)

    def give(self) -> None:
        self.unused, self.heaps, self.given = 0.0, 0.0, self.given + 1

    def give_heaps(self) -> None:
        self.heaps, self.heaps_given = 0.0, self.heaps_given + 1

    def resident(self) -> int:
        return int((self.needed + self.unused + self.heaps) * GROWTH)

    def check(self, *, busy: bool = False) -> int:
        """How often memory was returned, after one more check."""
        self.seconds += 5.0 if busy else 0.01
        self.memory.check()
        return self.given


@pytest.fixture
def process() -> Process:
    return Process()


def test_a_little_memory_is_kept_for_the_next_runs(process):
    process.unused = 0.9
    assert process.check(busy=True) == 0
    assert process.check() == 0


def test_the_heaps_of_a_busy_server_do_not_grow_from_check_to_check(process):
    for round in range(1, 10):
        process.heaps += 1.1 * HEAP_GROWTH / GROWTH
        assert process.check(busy=True) == 0
        assert (process.heaps, process.heaps_given) == (0, round)


def test_the_heaps_of_a_busy_server_are_returned_between_its_checks(process):
    process.heaps = 1.1 * HEAP_GROWTH / GROWTH
    process.memory.check_heaps()
    assert (process.heaps, process.heaps_given, process.given) == (0, 1, 0)


def test_growth_counts_from_the_least_memory_and_not_from_that_of_a_busy_moment(process):
    process.needed += 1.1 * HEAP_GROWTH / GROWTH  # by runs in progress
    process.memory.check_heaps()
    process.needed = 1.0  # they have ended, and their memory was returned at once
    process.memory.check_heaps()
    process.heaps = 1.1 * HEAP_GROWTH / GROWTH
    process.memory.check_heaps()
    assert (process.heaps, process.heaps_given) == (0, 2)


def test_heaps_that_hardly_grow_are_left_alone(process):
    process.heaps = 0.9 * HEAP_GROWTH / GROWTH
    process.check(busy=True)
    process.check()
    assert process.heaps_given == 0


def test_memory_in_use_is_not_returned_again_and_again(process):
    process.unused = 2 * HEAP_GROWTH / GROWTH  # what an engine keeps for its next runs
    for _ in range(MOST_CHECKS):
        process.check(busy=True)
    assert (process.heaps_given, process.given) == (1, 0)


def test_what_runs_needed_when_the_heaps_were_returned_is_returned_later(process):
    process.needed += 1.9 * HEAP_GROWTH / GROWTH
    process.check(busy=True)
    process.needed, process.heaps = 1.0, 1.9 * HEAP_GROWTH / GROWTH  # the runs have ended
    for _ in range(MOST_CHECKS):
        process.check(busy=True)
    assert process.heaps == 0


def test_what_an_engine_keeps_of_a_busy_server_is_returned_after_a_minute(process):
    for minute in range(1, 4):
        process.unused = 0.5
        for _ in range(KEPT_CHECKS):
            assert process.given == minute - 1
            process.check(busy=True)
        assert (process.unused, process.given) == (0, minute)


def test_what_an_engine_keeps_counts_from_the_least_memory_and_not_from_that_of_a_busy_moment(process):
    process.needed = 2.5  # by runs in progress
    assert process.check(busy=True) == 1
    process.needed = 1.0  # they have ended, and their memory was returned at once
    process.check(busy=True)
    process.unused = 0.5
    for _ in range(KEPT_CHECKS):
        process.check(busy=True)
    assert (process.unused, process.given) == (0, 2)


def test_memory_in_use_is_not_returned_every_minute(process):
    process.needed = 1.5
    for _ in range(4 * KEPT_CHECKS):
        process.check(busy=True)
    assert process.given == 1


def test_a_load_that_is_over_leaves_no_memory_behind(process):
    process.unused = 8
    assert process.check() == 1
    assert process.resident() == GROWTH


def test_memory_is_returned_once_if_all_of_it_is_needed(process):
    process.needed = 5  # such as a second model
    assert process.check() == 1
    assert [process.check() for _ in range(3)] == [1, 1, 1]


def test_what_runs_in_progress_need_is_returned_after_them(process):
    process.needed = 8
    assert process.check(busy=True) == 1
    process.needed, process.unused = 1, 7  # the runs have ended
    assert process.check() == 2
    assert process.unused == 0


def test_resident_memory_grows_with_what_the_process_writes():
    before = resident_bytes()
    block = bytearray(GROWTH)
    block[::4096] = b"x" * len(block[::4096])
    assert resident_bytes() > before + GROWTH // 2


def test_a_server_checks_until_it_is_stopped(process):
    process.unused = 8

    async def serve() -> None:
        task = asyncio.create_task(process.memory.run(0.001))
        while not process.given:
            await asyncio.sleep(0.001)
        process.unused = 8
        while process.given < 2:
            await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(asyncio.wait_for(serve(), 30))
    assert process.unused == 0


def test_answers_in_reference_cycles_are_freed_first(process):
    class Answer:
        """Refers to itself, as a failed call does through its traceback."""

        def __init__(self) -> None:
            self.itself = self

    answer = weakref.ref(Answer())
    process.unused = 8
    process.check()
    assert answer() is None
