"""Inlining all calls does not change the answers of a model."""

from pathlib import Path

import pytest
from tests.live import answers
from tests.recorded_models import EXPECTED, load, of_kind, path_of

import tfport
from tfport.graph.graph import Graph
from tfport.graph.inline import callee, inline


def inline_all(graph: Graph) -> int:
    count = 0
    while calls := [node for node in graph if callee(node) is not None]:
        for call in calls:
            inline(call)
            count += 1
    return count


@pytest.mark.parametrize("name", [n for n in of_kind("saved_model", "graph_def") if n != "list_arguments"])
def test_it_answers_as_before(name, tmp_path):
    model = load(name)
    if not inline_all(model.graph):
        pytest.skip("it calls no function")
    tfport.save(model, str(tmp_path / "model"))
    kind = EXPECTED[name]["kind"]
    after = answers.answers(kind, tmp_path / "model")
    before = answers.answers(kind, Path(path_of(name)))
    answers.assert_same({key: after[key] for key in before}, before)
