"""For TensorFlow 1.4 nodes wait for transpositions through an Identity."""

import numpy as np
import pytest
from tests.check.findings.waiting_programs import HEAD, PROGRAMS
from tests.recorded_models import graph

import tfport
from tfport.graph.build import graph_to_def


def fixed(program, target):
    model = graph_to_def(graph(HEAD + program)).SerializeToString()
    return model, tfport.fix(model, target=target, fetches=["y:0"])


def transposes_waited_for(model):
    return [c.name for node in model.graph for c in node.controls if c.op == "Transpose"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_rewritten_graph_waits_for_nothing_that_may_be_removed(name):
    before, result = fixed(PROGRAMS[name][0], "tensorflow==1.4.1")
    assert not transposes_waited_for(result.model)
    assert tfport.check(result.model, on="tensorflow==1.4.1", fetches=["y:0"]).verdict == "runs"
    feeds = {"x:0": np.float32([[1, 2], [3, 4]])}
    (expected,), (actual,) = (tfport.Session(m).run(["y:0"], feeds) for m in (before, result.model))
    assert np.array_equal(actual, expected)


def test_other_releases_get_no_further_nodes():
    _, result = fixed(PROGRAMS["a constant waits"][0], "tensorflow==1.5.1")
    assert transposes_waited_for(result.model) == ["b"]
