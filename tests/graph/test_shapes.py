import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.shapes import UNKNOWN, Shape

SIZES = st.none() | st.integers(0, 2**63 - 1)
SHAPES = st.just(UNKNOWN) | st.builds(Shape, st.lists(SIZES, max_size=5).map(tuple))


@given(SHAPES)
def test_a_shape_survives_a_round_trip(shape):
    assert Shape.from_proto(shape.to_proto()) == shape


def test_names_of_dimensions_are_kept():
    named = pb.TensorShapeProto(dim=[{"size": -1, "name": "batch"}, {"size": 3}])
    assert Shape.from_proto(named) == Shape((None, 3), ("batch", ""))
    assert Shape.from_proto(named).to_proto() == named


WRITTEN = [
    (UNKNOWN, "(...)"),
    (Shape(()), "()"),
    (Shape((3,)), "(3,)"),
    (Shape((None, 224, 3)), "(?, 224, 3)"),
]


@pytest.mark.parametrize(("shape", "text"), WRITTEN)
def test_a_shape_prints_like_a_tuple(shape, text):
    assert str(shape) == text


SIZED = [
    (UNKNOWN, None, None),
    (Shape(()), 0, 1),
    (Shape((2, 3)), 2, 6),
    (Shape((2, None)), 2, None),
    (Shape((1 << 62, 1 << 62, 0)), 3, 0),
    (Shape((1 << 62, 1 << 62)), 2, None),
    (Shape((1 << 62,) * 100_000), 100_000, None),
]


@pytest.mark.parametrize(("shape", "rank", "size"), SIZED, ids=[str(s)[:20] for s, _, _ in SIZED])
def test_rank_and_size_are_none_if_unknown(shape, rank, size):
    assert (shape.rank, shape.size) == (rank, size)
