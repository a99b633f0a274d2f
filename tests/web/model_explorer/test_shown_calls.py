"""Which calls Model Explorer may show: its list of graphs must end, and stay short."""

from tfport.web.model_explorer import shown_graphs as module
from tfport.web.model_explorer.shown_graphs import DEEPEST, shown_calls


def listed(calls, pairs, graph, depth=1):
    """The entries of Model Explorer's list below a graph, which it makes in this way."""
    assert depth <= DEEPEST
    return 1 + sum(
        listed(calls, pairs, other, depth + 1) for other in calls[graph] if (graph, other) in pairs
    )


def test_a_function_that_two_graphs_call_is_below_both():
    calls = {"main": ["f", "g"], "f": ["h"], "g": ["h"], "h": []}
    assert shown_calls(calls) == {("main", "f"), ("main", "g"), ("f", "h"), ("g", "h")}


def test_a_function_that_calls_itself_does_not_make_the_list_endless():
    calls = {"main": ["f"], "f": ["f", "g"], "g": ["f", "main"]}
    pairs = shown_calls(calls)
    assert pairs == {("main", "f"), ("f", "g")}
    assert listed(calls, pairs, "main") == 3


def test_functions_that_call_the_next_one_twice_by_two_ways_do_not_make_it_huge():
    calls = {"main": ["a0", "b0"]}
    for level in range(60):
        below = [f"a{level + 1}", f"b{level + 1}"] if level < 59 else []
        calls |= {f"a{level}": below, f"b{level}": below}
    pairs = shown_calls(calls)
    assert listed(calls, pairs, "main") == len(calls)


def test_a_long_chain_is_cut():
    calls = {str(level): [str(level + 1)] if level < 1000 else [] for level in range(1001)}
    pairs = shown_calls(calls)
    assert listed(calls, pairs, "0") == DEEPEST
    assert listed(calls, pairs, str(DEEPEST)) == DEEPEST  # the next ones are in a list of their own


def test_many_graphs_that_call_the_same_are_too_many_together(monkeypatch):
    monkeypatch.setattr(module, "MOST_ENTRIES", 10)
    calls = {**{f"f{number}": ["g"] for number in range(6)}, "g": []}
    assert shown_calls(calls) == {("f0", "g")}
