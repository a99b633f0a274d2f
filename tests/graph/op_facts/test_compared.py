"""Shape rules never contradict what real releases inferred (`tests/truth/inferred_shapes.json`)."""

import json
from pathlib import Path

import pytest
from tests.recorded_models import graph

from tfport.atlas.resolve.targets import resolve_targets
from tfport.check.release_quirks import since
from tfport.graph.graph import Graph
from tfport.graph.op_facts.compared import COMPARED
from tfport.graph.op_facts.node_call import NodeCall
from tfport.graph.op_facts.rule import CHANGED_IN, Outputs, ShapeConflict

RECORDED = json.loads((Path(__file__).parents[2] / "truth/inferred_shapes.json").read_text())
"""Graphs whose last node is `node`, and by release the sizes of its outputs (-1: unknown), or the error."""
EVERY = [(row["graph"], release, sizes) for row in RECORDED for release, sizes in row["inferred"].items()]


def inferred(made: Graph, release: str) -> Outputs:
    (target,) = resolve_targets(f"tensorflow=={release}", device="cpu")
    made.rest.versions.producer = 24
    changes = frozenset(r for changed in CHANGED_IN.values() for r in changed if since(target, r))
    shapes = {n: outputs_of(n, [], changes)[0] for n in made if not n.inputs}
    node = made["node"]
    return outputs_of(node, [shapes[value.node] for value in node.inputs], changes)


def outputs_of(node, inputs, changes) -> Outputs:
    return COMPARED[node.op](NodeCall(node, inputs, changes=changes))


def dims(sizes: list[int] | None) -> tuple[int | None, ...] | None:
    return None if sizes is None else tuple(None if size < 0 else size for size in sizes)


@pytest.mark.parametrize(("text", "release", "recorded"), EVERY)
def test_a_shape_rule_knows_what_the_release_infers_or_less(text, release, recorded):
    if isinstance(recorded, str):
        with pytest.raises(ShapeConflict) as conflict:
            inferred(graph(text), release)
        assert str(conflict.value) == recorded
        return
    ours = inferred(graph(text), release)
    assert len(ours) == len(recorded)
    complete = "?" not in text and "..." not in text and graph(text)["node"].op in CHANGED_IN
    for known, sizes in zip(ours, recorded, strict=True):
        assert not complete or known == dims(sizes)
        assert known is None or all(a in (None, b) for a, b in zip(known, sizes, strict=True))


def test_every_op_that_changed_is_recorded():
    recorded = {graph(row["graph"])["node"].op for row in RECORDED}
    assert set(CHANGED_IN) <= recorded
