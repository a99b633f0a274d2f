"""The graphs of a model that Model Explorer shows, their names, which of them comes first, and their calls.

Model Explorer gets all graphs at once, and shows their ids to people. So functions that nothing calls are
left out if the model has signatures: a Keras SavedModel has hundreds of them. The names are those of
functions, subgraphs and models, each once; `main` is the graph of a model without subgraphs and layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from tfport.web.graph_view.columns import FUNCTION, LAYERS, GraphSummary
from tfport.web.graph_view.graphs import MAIN, GraphFamily, ModelGraphs

TENSORFLOW_OPS = "TensorFlow ops"
"""The graph of TensorFlow ops that a TensorFlow Lite or Keras model means."""
DEFAULT = "serving_default"
Part = tuple[GraphFamily, GraphSummary]


class ShownGraphs:
    """The graphs of a model by their ids in `web.graph_view`."""

    def __init__(self, graphs: ModelGraphs) -> None:
        every = {s.id: (family, s) for family in graphs.families for s in family.summaries()}
        starts = every
        if graphs.model.signatures:
            starts = {id: part for id, part in every.items() if part[0] is not graphs.nodes or id == MAIN}
        calls = _calls(every, starts)
        summaries = {id: every[id][1] for id in calls}
        self.graphs = {id: every[id] for id in calls}
        self.names = _names(summaries.values())
        self.at_first = list(_calls(every, [_first(summaries, calls)]))
        """The graph to show first, and those that it needs."""
        self.calls = shown_calls(calls)
        """Pairs of a graph and a graph that it calls."""
        self.left_out = len(every) - len(self.graphs)
        """The number of functions that are not shown."""


def _calls(every: Mapping[str, Part], starts: Iterable[str]) -> dict[str, list[str]]:
    """By graph the graphs that it calls, each once; for these graphs and those that they need."""
    calls: dict[str, list[str]] = {}
    waiting = list(starts)
    for id in waiting:  # grows during the loop
        if id not in calls:
            columns = every[id][0].columns(id)
            calls[id] = list(dict.fromkeys(called for call in columns.calls for called in call.graphs))
            waiting += calls[id]
    return calls


def _first(summaries: Mapping[str, GraphSummary], calls: Mapping[str, list[str]]) -> str:
    """The first graph; if that only calls the function of a signature, the function with its work."""
    first = next(iter(summaries))
    callees = [summaries[id] for id in calls[first] if summaries[id].signatures]
    if first != MAIN or not callees:
        return first
    chosen = max(callees, key=lambda s: DEFAULT in s.signatures)
    while True:
        functions = [summaries[id] for id in calls[chosen.id] if summaries[id].kind == FUNCTION]
        largest = max(functions, key=lambda s: s.nodes, default=chosen)
        if largest.nodes <= chosen.nodes:
            return chosen.id
        chosen = largest


def _names(summaries: Iterable[GraphSummary]) -> dict[str, str]:
    names: dict[str, str] = {}
    taken: set[str] = set()
    for summary in summaries:
        name = first = _name(summary, is_first=not names)
        number = 1
        while name in taken:
            number += 1
            name = f"{first} ({number})"
        taken.add(name)
        names[summary.id] = name
    return names


def _name(summary: GraphSummary, *, is_first: bool) -> str:
    if summary.id == MAIN:
        return MAIN if is_first else TENSORFLOW_OPS
    if summary.kind == LAYERS:
        return LAYERS if is_first else f"{LAYERS} of {summary.name}"
    return summary.name or summary.id


# Calls

MOST_ENTRIES = 20_000
DEEPEST = 200
Calls = Mapping[str, Sequence[str]]
"""By graph: the graphs that it calls, each once."""


def shown_calls(calls: Calls) -> set[tuple[str, str]]:
    """Pairs of a caller and a called graph: all of them if the list of graphs stays short.

    Model Explorer's list repeats a called graph below each of its callers. A function that calls itself would
    make that list endless, and functions that call each other by many ways would make it huge. Such a model
    keeps one caller for each graph.
    """
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
