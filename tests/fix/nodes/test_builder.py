"""Nodes that a rule makes: inferred types and attributes, explicit defaults."""

import numpy as np
import pytest
from tests.fix.rule_cases import PRODUCER
from tests.recorded_models import graph

from tfport.atlas.resolve.targets import resolve_targets
from tfport.errors import MalformedGraph
from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import NodeBuilder
from tfport.graph.build import graph_to_def
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64, STRING


def builder(target="tensorflow==2.21.0"):
    made = graph("x = Placeholder() {dtype=int64, shape=(2,)}\ny = Neg(x) {T=int64}")
    return NodeBuilder(made["y"], Facts(), NodeChecker(resolve_targets(target)[0], PRODUCER)), made[
        "x"
    ].output(0)


def test_types_come_from_the_inputs_and_plain_numbers_follow():
    op, x = builder()
    assert op.Add(x, 1).attrs["T"] == INT64
    assert op.Add(1, x).inputs[0].dtype == INT64
    packed = op.Pack([x, x], axis=1)
    assert (packed.attrs["N"], packed.attrs["T"], packed.attrs["axis"]) == (2, INT64, 1)
    named = op.IdentityN([x, op.const(1.5)])
    assert named.attrs["T"] == [INT64, FLOAT32]
    assert op.StridedSlice(x, [0], [1], [1]).attrs["Index"] == INT32
    assert op.Cast(x, DstT="float32").attrs["DstT"] == FLOAT32


@pytest.mark.parametrize(
    ("value", "dtype"), [(1, INT32), (1.5, FLOAT32), (True, BOOL), ("a", STRING), (np.int64([1]), INT64)]
)
def test_constants_have_the_type_of_what_is_given(value, dtype):
    op, _ = builder()
    assert op.const(value).dtype == dtype


def test_inputs_may_be_given_one_after_the_other():
    op, x = builder()
    assert len(op.Pack(x, x, x, N=3).inputs) == 3


def test_defaults_that_the_target_knows_are_written_out():
    op, x = builder()
    assert op.MatMul(x, x).attrs["grad_a"] is False
    op, x = builder("tensorflow==1.4.1")
    assert "grad_a" not in op.MatMul(x, x).attrs
    assert op.MatMul(x, x).attrs["transpose_a"] is False
    assert op.MatMul(x, x, grad_a=True).attrs["grad_a"] is True


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda op, x: op.Nonsense(x), "Nonsense, an unknown op"),
        (lambda op, x: op.Add(x, x, mode="fast"), "Add.mode, but Add has no such attribute"),
        (lambda op, x: op.Neg(x, x), "too many"),
    ],
)
def test_errors_in_a_rule_are_reported(make, says):
    op, x = builder()
    with pytest.raises(MalformedGraph, match=says):
        make(op, x)


def test_what_was_made_can_be_taken_back():
    op, x = builder()
    before = list(op.beside.graph.nodes)
    op.Add(op.Mul(x, 2), 3)
    assert len(op.beside.graph) > len(before)
    op.undo()
    assert list(op.beside.graph.nodes) == before
    assert x.uses == [op.beside]
    graph_to_def(op.beside.graph)
