import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tfport.formats.checkpoint import slices

SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple)


@st.composite
def boxes(draw, shape):
    starts = [draw(st.integers(0, size)) for size in shape]
    return tuple((at, draw(st.integers(0, size - at))) for at, size in zip(starts, shape, strict=True))


@st.composite
def cut(draw, box):
    """A box, split in two repeatedly."""
    wide = [axis for axis, (_, length) in enumerate(box) if length > 1]
    if not wide or not draw(st.booleans()):
        return [box]
    axis = draw(st.sampled_from(wide))
    start, length = box[axis]
    first = draw(st.integers(1, length - 1))
    halves = [(start, first), (start + first, length - first)]
    return [part for half in halves for part in draw(cut((*box[:axis], half, *box[axis + 1 :])))]


@given(SHAPES.flatmap(lambda shape: cut(slices.whole(shape)).map(lambda parts: (shape, parts))))
def test_the_parts_of_a_split_box_cover_it(case):
    shape, parts = case
    assert slices.tiles(slices.whole(shape), parts)
    if len(parts) > 1:
        assert not slices.tiles(slices.whole(shape), parts[1:])
        assert not slices.tiles(slices.whole(shape), [*parts, parts[0]])


@given(SHAPES.flatmap(lambda s: st.tuples(st.just(s), st.lists(boxes(s), min_size=1, max_size=5))))
def test_boxes_cover_a_region_if_each_element_is_in_exactly_one(case):
    shape, parts = case
    assume(0 not in shape)
    count = np.zeros(shape, int)
    for part in parts:
        count[slices.select(part, slices.whole(shape))] += 1
    assert slices.tiles(slices.whole(shape), parts) == bool((count == 1).all())


def test_a_tensor_split_along_too_many_axes_is_refused():
    whole = slices.whole((2,) * 30)
    assert not slices.tiles(whole, [((0, 1),) * 30, ((1, 1),) * 30])


OUTSIDE = [  # slice, shape, reason
    (((0, 3),), (2,), r"slice 0,3 is not within shape \[2\]"),
    (((-1, 1),), (2,), r"slice -1,1 is not within shape \[2\]"),
    (((0, 1), (0, -1)), (2,), r"slice 0,1:- has 2 axes, expected 1"),
    (((0, -2),), (2,), r"slice 0,-2 is not within shape \[2\]"),
]


@pytest.mark.parametrize(("part", "shape", "reason"), OUTSIDE)
def test_a_slice_outside_its_tensor_is_refused(part, shape, reason):
    with pytest.raises(ValueError, match=reason):
        slices.within(part, shape)
