"""Sizes of values: numbers if known, nodes otherwise."""

import pytest
from tests.recorded_models import graph

from tfport.graph.building.node_builder import NodeBuilder, Refusal
from tfport.graph.building.sizes import Sizes
from tfport.graph.graph import Value


def sizes_of(shape, **options):
    attrs = f"dtype=float32, shape={shape}" if shape else "dtype=float32"
    built = graph(f"x = Placeholder() {{{attrs}}}")
    return Sizes(NodeBuilder(built, "new")).of(built["x"].output(0), **options)


def test_a_scalar_has_no_sizes():
    assert sizes_of("()") == []


def test_known_sizes_are_numbers():
    assert sizes_of("(2, 0)") == [2, 0]


def test_an_unknown_size_is_read_at_run_time():
    first, second = sizes_of("(?, 3)")
    assert isinstance(first, Value)
    assert second == 3


def test_an_unknown_rank_is_refused_unless_the_caller_knows_it():
    with pytest.raises(Refusal, match="the rank of `x` is unknown"):
        sizes_of(None)
    assert len(sizes_of(None, rank=3)) == 3
