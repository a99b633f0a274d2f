"""Which calls of graphs Model Explorer may show.

Its list of graphs repeats a called graph below each of its callers. A function that calls itself would
make that list endless, and functions that call each other by many ways would make it huge. Such a model
keeps one caller for each graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

MOST_ENTRIES = 20_000
DEEPEST = 200

Calls = Mapping[str, Sequence[str]]
"""By graph: the graphs that it calls, each once."""


def shown_calls(calls: Calls) -> set[tuple[str, str]]:
    """Pairs of a caller and a called graph: all of them if the list of graphs stays short."""
    return set(_pairs(calls)) if _is_short(calls) else set(_one_caller_each(calls))


def _pairs(calls: Calls) -> Iterator[tuple[str, str]]:
    for caller, called in calls.items():
        yield from ((caller, graph) for graph in called)


def _is_short(calls: Calls) -> bool:
    """Whether the list of all graphs below their callers ends, and is neither long nor deep."""
    entries: dict[str, int] = {}
    depths: dict[str, int] = {}
    try:
        for graph in TopologicalSorter(calls).static_order():  # called graphs first
            called = calls.get(graph, ())
            entries[graph] = 1 + sum(entries[other] for other in called)
            depths[graph] = 1 + max((depths[other] for other in called), default=0)
            if entries[graph] > MOST_ENTRIES or depths[graph] > DEEPEST:
                return False
    except CycleError:
        return False
    inner = {graph for _, graph in _pairs(calls)}
    return sum(count for graph, count in entries.items() if graph not in inner) <= MOST_ENTRIES


def _one_caller_each(calls: Calls) -> Iterator[tuple[str, str]]:
    """For each graph its first caller, nearest to the first graph; without those that are too deep."""
    depths: dict[str, int] = {}
    for start in calls:
        if start in depths:
            continue
        depths[start] = 1
        reached = [start]
        for caller in reached:  # grows during the loop
            for graph in calls.get(caller, ()) if depths[caller] < DEEPEST else ():
                if graph not in depths:
                    depths[graph] = depths[caller] + 1
                    reached.append(graph)
                    yield caller, graph
