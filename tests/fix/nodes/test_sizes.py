"""Sizes of values: numbers if known, nodes otherwise."""

import pytest
from tests.recorded_models import graph

from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.sizes import Sizes
from tfport.fix.rule import Refusal
from tfport.graph.graph import Value

PRODUCER = 2474


def sizes_of(shape, **options):
    attrs = f"dtype=float32, shape={shape}" if shape else "dtype=float32"
    made = graph(f"x = Placeholder() {{{attrs}}}\ny = Neg(x) {{T=float32}}")
    builder = NodeBuilder(made["y"], Facts(), NodeChecker(resolve_targets("tensorflow==1.4.1")[0], PRODUCER))
    return Sizes(builder).of(made["x"].output(0), **options)


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
