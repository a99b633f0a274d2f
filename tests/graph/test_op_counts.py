from collections import Counter

import pytest
from tests.recorded_models import EXPECTED, PROGRAMS, load, shared

from tfport.graph import op_counts
from tfport.graph.op_counts import count_ops


def test_nodes_are_counted_by_purpose():
    counts = count_ops(shared("module"))
    assert set(counts.signatures) == {"back", "serving_default"}
    assert counts.signatures["serving_default"]["MatMul"] == 1
    assert "MatMul" not in counts.signatures["back"]
    assert (counts.loading["RestoreV2"], counts.saving["SaveV2"]) == (1, 1)
    assert not {"RestoreV2", "SaveV2"} & {*counts.rest, *counts.signatures["back"]}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_node_is_counted(name):
    graphs = EXPECTED[name]["graphs"]
    graph = next((g for g in graphs if g.get("tags") == ["serve"]), graphs[0])
    total = sum((Counter(body["ops"]) for body in (graph["main"], *graph["functions"].values())), Counter())
    counts = count_ops(shared(name))
    assert counts.total == total
    by_purpose = sum(counts.signatures.values(), Counter()) + counts.loading + counts.saving + counts.rest
    assert set(by_purpose) == set(total)
    assert all(by_purpose[op] >= total[op] for op in total)
    if len(counts.signatures) < 2:
        assert by_purpose == total


def test_without_signatures_all_nodes_are_the_rest():
    counts = count_ops(shared("loops"))
    assert counts.rest == counts.total
    assert not counts.signatures


def test_excessive_signatures_are_left_out(monkeypatch):
    monkeypatch.setattr(op_counts, "MOST_VISITS", 20)
    model = load("loops")
    for i, node in enumerate(model.graph):
        model.meta.signature_def[f"s{i:03}"].outputs["y"].name = f"{node.name}:0"
    counts = count_ops(model)
    assert len(counts.signatures) + len(counts.uncounted) == len(model.signatures)
    assert counts.uncounted


def test_many_signatures_with_the_same_result_are_counted_once():
    model = load("frozen")
    last = list(model.graph)[-1].name
    for i in range(20_000):
        model.meta.signature_def[f"s{i}"].outputs["y"].name = f"{last}:0"
    assert len(count_ops(model).signatures) == 20_000
