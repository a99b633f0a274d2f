"""Nodes that a rule builds: defaults that the target knows are explicit, and nodes can be removed again."""

import pytest
from tests.fix.rule_cases import PRODUCER
from tests.recorded_models import graph

from tfport.atlas.resolve.targets import resolve_targets
from tfport.errors import MalformedGraph
from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import RuleBuilder
from tfport.graph.build import graph_to_def


def builder(target="tensorflow==2.21.0"):
    built = graph("x = Placeholder() {dtype=int64, shape=(2,)}\ny = Neg(x) {T=int64}")
    checker = NodeChecker(resolve_targets(target)[0], PRODUCER)
    return RuleBuilder(built["y"], Facts(), checker), built["x"].output(0)


def test_defaults_that_the_target_knows_are_written_out():
    op, x = builder()
    assert op.MatMul(x, x).attrs["grad_a"] is False
    op, x = builder("tensorflow==1.4.1")
    assert "grad_a" not in op.MatMul(x, x).attrs
    assert op.MatMul(x, x).attrs["transpose_a"] is False
    assert op.MatMul(x, x, grad_a=True).attrs["grad_a"] is True


def test_errors_in_a_rule_are_reported():
    op, x = builder()
    with pytest.raises(MalformedGraph, match="a rule builds Nonsense, an unknown op"):
        op.Nonsense(x)


def test_new_nodes_can_be_removed():
    op, x = builder()
    before = list(op.graph.nodes)
    op.Add(op.Mul(x, 2), 3)
    assert len(op.graph) > len(before)
    op.undo()
    assert list(op.graph.nodes) == before
    assert x.uses == [op.beside]
    graph_to_def(op.graph)
