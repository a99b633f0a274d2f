"""Nodes that are asked together get the answers that they would get alone."""

import pytest
from tests.recorded_models import of_kind, shared

from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.node_checker import NodeChecker
from tfport.graph.reach import every_node

TARGETS = ("tensorflow==1.4.1", "tensorflow==1.13.2", "tensorflow==2.8.4")


@pytest.mark.parametrize("requirement", TARGETS)
def test_what_is_resolved_together_is_resolved_alone(requirement):
    (target,) = resolve_targets(requirement)
    resolved = unresolved = 0
    for name in of_kind("saved_model")[::6]:
        graph = shared(name).graph
        producer = graph.rest.versions.producer
        together = NodeChecker(target, producer).resolved(every_node(graph))
        assert not [n for n in together if NodeChecker(target, producer).unresolved(n)], name
        checker = NodeChecker(target, producer)  # remembers what it was asked
        for node in every_node(graph):
            alone = NodeChecker(target, producer).unresolved(node)
            assert list(checker.unresolved(node)) == list(alone), (name, node)
            resolved, unresolved = resolved + (node in together), unresolved + bool(alone)
    assert resolved > 100
    assert unresolved > 10
