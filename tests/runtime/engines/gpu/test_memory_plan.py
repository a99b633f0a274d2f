"""Tensors in one block of memory."""

from hypothesis import given
from hypothesis import strategies as st

from tfport.runtime.engines.gpu.part_island import ALIGNMENT, Lifetime, offsets_of

LIFETIMES = st.lists(
    st.builds(
        lambda size, first, steps: Lifetime(size, first, first + steps),
        st.integers(0, 2000),
        st.integers(0, 8),
        st.integers(0, 8),
    ),
    max_size=12,
)


@given(LIFETIMES)
def test_what_is_needed_at_the_same_time_does_not_overlap(lifetimes):
    offsets, size = offsets_of(lifetimes)
    for number, (one, begin) in enumerate(zip(lifetimes, offsets, strict=True)):
        assert begin % ALIGNMENT == 0
        assert begin + one.size <= size
        for other, at in zip(lifetimes[:number], offsets[:number], strict=True):
            meets = one.first <= other.last and other.first <= one.last
            assert not meets or begin + one.size <= at or at + other.size <= begin


def test_memory_is_used_again():
    chain = [Lifetime(1024, step, step + 1) for step in range(10)]
    offsets, size = offsets_of(chain)
    assert size == 2048
    assert set(offsets) == {0, 1024}


def test_nothing_needs_nothing():
    assert offsets_of([]) == ([], 0)
