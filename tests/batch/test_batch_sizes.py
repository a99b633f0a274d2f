"""Sizes of calls: grown while that pays, within a bound of memory."""

import time

from tfport.batch.batch_sizes import LARGEST, TRIES, BatchSizes


def grown(seconds, bytes_per_row=0, **options):
    """The size that is chosen, if a call of n rows takes seconds(n)."""
    sizes = BatchSizes(**options)
    for _ in range(100):
        if sizes.is_decided:
            return sizes.rows
        sizes._note(sizes.rows, seconds(sizes.rows), bytes_per_row * sizes.rows)
    raise AssertionError


def test_calls_with_a_cost_of_their_own_grow():
    assert grown(lambda n: 1 + n * 1e-6, max_bytes=1 << 30) == LARGEST


def test_calls_that_cost_the_same_per_row_stay_small():
    assert grown(lambda n: n, max_bytes=1 << 30) == 8


def test_a_slow_moment_does_not_decide():
    """While 256 rows were tried first, the machine was slower."""
    calls = []

    def seconds(rows):
        calls.append(rows)
        slower = 1.2 if rows == 256 and calls.count(rows) <= TRIES else 1.0
        return slower * (1 + rows / 40 + max(rows - 256, 0) / 100)

    assert grown(seconds, max_bytes=1 << 30) == 256


def test_cheap_rows_do_not_decide():
    """A third of the small calls has rows that take less time, such as short texts; 256 rows are fastest."""
    calls = []

    def seconds(rows):
        calls.append(rows)
        cheap = 0.7 if rows <= 64 and calls.count(rows) % 3 == 0 else 1.0
        return cheap * (0.3 + rows / 40 + max(rows - 256, 0) / 100)

    assert grown(seconds, max_bytes=1 << 30) == 256


def test_sizes_that_are_slower_together_still_grow():
    """Each size is only a little better than the one before."""
    assert grown(lambda n: n / n**0.035, max_bytes=1 << 30) >= LARGEST / 2


def test_parts_that_are_shorter_than_a_call_end_the_growth():
    sizes = BatchSizes()
    for _ in range(100):
        rows = min(sizes.rows, 100)
        sizes._note(rows, 1 + rows * 1e-6, 0)
    assert sizes.is_decided
    assert sizes.rows == 64


def test_tables_that_begin_with_single_rows_still_grow():
    """Beam's batches grow from one row."""
    sizes = BatchSizes()
    for _ in range(100):
        sizes._note(1, 1.0, 0)
    for _ in range(100):
        sizes._note(sizes.rows, 1 + sizes.rows * 1e-6, 0)
    assert sizes.rows == LARGEST


def test_other_work_on_the_machine_does_not_count():
    """Calls are timed by the processors, unless they wait for something else."""
    assert BatchSizes()._clock is time.process_time
    assert BatchSizes(waits=True)._clock is time.perf_counter


def test_memory_limits_the_size():
    assert grown(lambda n: 1, bytes_per_row=1 << 20, max_bytes=64 << 20) == 64


def test_a_size_that_was_asked_for_is_used():
    assert BatchSizes(rows=100).rows == 100
    assert BatchSizes(rows=100).is_decided


def test_a_call_that_ran_out_of_memory_is_halved():
    sizes = BatchSizes(rows=100)
    sizes.ran_out_of_memory(100)
    assert sizes.rows == 50


def test_processes_share_the_memory():
    assert BatchSizes(share=4).max_bytes * 3 < BatchSizes().max_bytes
