"""Nodes that are built: inferred types and attributes, constants, limits, errors."""

import numpy as np
import pytest
from tests.recorded_models import graph

from tfport.errors import MalformedGraph
from tfport.graph.building.node_builder import NodeBuilder, Refusal
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64, STRING


def builder():
    built = graph("x = Placeholder() {dtype=int64, shape=(2,)}\ny = Neg(x) {T=int64}")
    return NodeBuilder(built, "new"), built["x"].output(0)


def test_types_come_from_the_inputs_and_plain_numbers_follow():
    b, x = builder()
    assert b.Add(x, 1).attrs["T"] == INT64
    assert b.Add(1, x).inputs[0].dtype == INT64
    packed = b.Pack([x, x], axis=1)
    assert (packed.attrs["N"], packed.attrs["T"], packed.attrs["axis"]) == (2, INT64, 1)
    named = b.IdentityN([x, b.const(1.5)])
    assert named.attrs["T"] == [INT64, FLOAT32]
    assert b.StridedSlice(x, [0], [1], [1]).attrs["Index"] == INT32
    assert b.Cast(x, DstT="float32").attrs["DstT"] == FLOAT32


@pytest.mark.parametrize(
    ("value", "dtype"), [(1, INT32), (1.5, FLOAT32), (True, BOOL), ("a", STRING), (np.int64([1]), INT64)]
)
def test_constants_have_the_type_of_their_numbers(value, dtype):
    b, _ = builder()
    assert b.const(value).dtype == dtype


def test_inputs_may_be_listed_one_after_the_other():
    b, x = builder()
    assert len(b.Pack(x, x, x, N=3).inputs) == 3


def test_defaults_are_not_written_out():
    b, x = builder()
    assert "transpose_a" not in b.MatMul(x, x).attrs


def test_a_cast_to_the_same_type_is_the_value_itself():
    b, x = builder()
    assert b.cast(x, INT64) is x
    wide = b.cast(x, FLOAT32)
    assert (wide.dtype, b.shape(wide)) == (FLOAT32, (2,))


def test_new_nodes_are_named_after_the_scope():
    b, x = builder()
    assert [b.Neg(x).name, b.Neg(x).name] == ["new/Neg", "new/Neg_1"]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda b, x: b.Nonsense(x), "a builder builds Nonsense, an unknown op"),
        (lambda b, x: b.Add(x, x, mode="fast"), "Add.mode, but Add has no such attribute"),
        (lambda b, x: b.Neg(x, x), "too many"),
    ],
)
def test_errors_are_reported(make, says):
    b, x = builder()
    with pytest.raises(MalformedGraph, match=says):
        make(b, x)


def test_the_number_of_nodes_is_limited():
    class Few(NodeBuilder):
        MOST_NODES = 2

    b, x = builder()
    few = Few(b.graph, "few")
    few.Neg(few.Neg(x))
    with pytest.raises(Refusal, match="it needs more than 2 nodes"):
        few.Neg(x)
