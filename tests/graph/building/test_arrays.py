"""Arrays with their shapes, whatever a builder calls a tensor; what other layers of the project use too."""

import pytest
from tests.recorded_models import graph

from tfport.graph.building import arrays
from tfport.graph.building.node_builder import NodeBuilder, Refusal


def built(shape, call):
    """The shape of what a function builds from a tensor, and the op of its last node."""
    attrs = f"dtype=float32, shape={shape}" if shape else "dtype=float32"
    nodes = graph(f"x = Placeholder() {{{attrs}}}")
    b = NodeBuilder(nodes, "new")
    result = call(b, nodes["x"].output(0))
    return b.shape(result), result.node.op


CASES = [
    ("(?, 2, 3)", lambda b, x: arrays.transpose(b, x, (0, 2, 1)), ((None, 3, 2), "Transpose")),
    ("(?, 2, 3)", lambda b, x: arrays.transpose(b, x, (0, 1, 2)), ((None, 2, 3), "Placeholder")),
    ("(4, 2, 3)", lambda b, x: arrays.reshape(b, x, (4, None)), ((4, 6), "Reshape")),
    ("(?, 2, 3)", lambda b, x: arrays.concat(b, [x, x], -1), ((None, 2, 6), "ConcatV2")),
    ("(?, 2, 3)", lambda b, x: arrays.split(b, x, 3, -1)[0], ((None, 2, 1), "Split")),
    ("(?, 2, 3)", lambda b, x: arrays.slice_axis(b, x, 1, -1, None), ((None, 1, 3), "StridedSlice")),
    ("(?, 2, 3)", lambda b, x: arrays.reduce(b, "Sum", x, [-1], keep=True), ((None, 2, 1), "Sum")),
    ("(?, 2, 3)", lambda b, x: arrays.pad(b, x, [(0, 0), (1, 0), (0, 0)]), ((None, 3, 3), "Pad")),
    ("(?, 2, 3)", lambda b, x: arrays.pad(b, x, [(0, 0)] * 3), ((None, 2, 3), "Placeholder")),
    ("(?, ?, 3)", lambda b, x: arrays.matmul(b, x, b.const([[1.0]] * 3)), ((None, None, 1), "Reshape")),
    ("(?, 2, 3)", lambda b, x: arrays.zeros(b, [2, 5], x.dtype), ((2, 5), "Fill")),
    (None, lambda b, x: arrays.transpose(b, x, (1, 0)), ((None, None), "Transpose")),
]


@pytest.mark.parametrize(("shape", "call", "expected"), CASES)
def test_shapes_follow(shape, call, expected):
    assert built(shape, call) == expected


def test_what_needs_the_rank_is_refused_without_it():
    with pytest.raises(Refusal, match="the rank of `x` is unknown"):
        built(None, lambda b, x: arrays.squeeze(b, x, 0))


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(Refusal, match="Dimensions must be equal, but are 3 and 4"):
        built("(2, 3)", lambda b, x: arrays.select(b, x, x, b.const([1.0] * 4)))
