from collections import Counter

import pytest
from tests.recorded_models import EXPECTED, PROGRAMS, load, shared

from tfport.graph import census as module
from tfport.graph.census import census


def test_a_node_counts_for_what_it_is_for():
    found = census(shared("module"))
    assert set(found.signatures) == {"back", "serving_default"}
    assert found.signatures["serving_default"]["MatMul"] == 1
    assert "MatMul" not in found.signatures["back"]
    assert (found.loading["RestoreV2"], found.saving["SaveV2"]) == (1, 1)
    assert not {"RestoreV2", "SaveV2"} & {*found.rest, *found.signatures["back"]}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_node_is_counted(name):
    said = EXPECTED[name]["graphs"]
    graph = next((g for g in said if g.get("tags") == ["serve"]), said[0])
    total = sum((Counter(body["ops"]) for body in (graph["main"], *graph["functions"].values())), Counter())
    found = census(shared(name))
    assert found.total == total
    by_use = sum(found.signatures.values(), Counter()) + found.loading + found.saving + found.rest
    assert set(by_use) == set(total)
    assert all(by_use[op] >= total[op] for op in total)
    if len(found.signatures) < 2:
        assert by_use == total


def test_without_signatures_everything_is_the_rest():
    found = census(shared("loops"))
    assert found.rest == found.total
    assert not found.signatures


def test_more_signatures_than_any_model_has_are_left_out(monkeypatch):
    monkeypatch.setattr(module, "MOST_VISITS", 20)
    model = load("loops")
    for i, node in enumerate(model.graph):
        model.meta.signature_def[f"s{i:03}"].outputs["y"].name = f"{node.name}:0"
    found = census(model)
    assert len(found.signatures) + len(found.uncounted) == len(model.signatures)
    assert found.uncounted


def test_many_signatures_of_one_result_are_counted_once():
    model = load("frozen")
    last = list(model.graph)[-1].name
    for i in range(20_000):
        model.meta.signature_def[f"s{i}"].outputs["y"].name = f"{last}:0"
    assert len(census(model).signatures) == 20_000
