"""How far batches grow: for whom they wait, and how many rows pay."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import pytest

from tfport.serve.batching.batch_growth import KNOWN, LONGEST_PAUSE, RARELY, Company, RowLimit


def test_a_batch_waits_for_no_more_requests_than_came_together():
    company = Company()
    for now in range(KNOWN):
        assert not company.is_complete(3, now, 1)
        company.waited(3, now)
    assert not company.is_complete(2, KNOWN, 1)
    assert company.is_complete(3, KNOWN, 1)
    company.waited(5, KNOWN)
    assert not company.is_complete(3, KNOWN, 1)
    for now in range(KNOWN):
        company.waited(1, now)
    assert company.is_complete(1, KNOWN, 1)
    assert not company.is_complete(1, KNOWN + RARELY, 1)  # perhaps there are more now


class Load:
    """Clients that wait for batches, and the processor time that these take."""

    def __init__(self, cost: Callable[[int], float], clients: int, largest: int = 1000) -> None:
        """`cost`: seconds of a batch by its rows."""
        self.cost, self.clients, self.now = cost, clients, 0.0
        self.limit = RowLimit(largest, lambda: self.now)

    def run(self, batches: int) -> Counter[int]:
        """Run batches; return how many rows ran in batches of each size."""
        sizes: Counter[int] = Counter()
        for _ in range(batches):
            rows = min(self.limit.rows, self.clients)
            self.now += self.cost(rows)
            self.limit.ran(rows)
            sizes[rows] += rows
        return sizes


def cheaper_together(rows: int) -> float:
    return 0.010 + 0.001 * rows


def cheaper_alone(rows: int) -> float:
    return 0.010 * rows * (1 if rows == 1 else 1.3)


def cheapest_at_sixteen(rows: int) -> float:
    return 0.006 * rows * (1 + 0.1 * abs(math.log2(rows / 16)))


@pytest.mark.parametrize("clients", [1, 8, 64, 1000])
def test_all_run_together_where_that_is_cheapest(clients):
    load = Load(cheaper_together, clients)
    sizes = load.run(20_000)
    assert sizes[clients] > 0.95 * sizes.total()


@pytest.mark.parametrize("clients", [8, 64])
def test_each_runs_alone_where_that_is_cheapest(clients):
    load = Load(cheaper_alone, clients)
    load.run(2_000)
    sizes = load.run(20_000)
    assert sizes[1] > 0.95 * sizes.total()


def test_a_limit_between_is_found_from_both_sides():
    load = Load(cheapest_at_sixteen, 200)
    load.run(5_000)
    best = load.run(5_000).most_common(1)[0][0]
    assert best == 16
    load.cost = cheaper_alone
    load.run(5 * LONGEST_PAUSE * 16)
    assert load.run(5_000).most_common(1)[0][0] == 1
    load.cost = cheapest_at_sixteen
    load.run(5 * LONGEST_PAUSE * 16)
    assert load.run(5_000).most_common(1)[0][0] == 16


def test_other_clients_are_another_load():
    load = Load(cheaper_alone, 64)
    load.run(5_000)
    assert load.run(1_000)[1] > 900
    load.clients, load.cost = 4, cheaper_together
    load.run(5 * LONGEST_PAUSE * 16)
    assert load.run(1_000).most_common(1)[0][0] == 4


def test_small_calls_do_not_change_it():
    load = Load(cheaper_together, 1)
    load.run(10_000)
    assert load.limit.rows == 1000
