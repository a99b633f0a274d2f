"""Blocks computed at once are those computed one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfport.runtime.ops.random import philox
from tfport.runtime.ops.random.philox import joint_blocks, many_blocks, one_block

WORDS_64 = st.integers(0, (1 << 64) - 1)
NEAR_ENDS = st.builds(
    lambda end, before: (1 << end) - before, st.sampled_from([32, 64, 96, 128]), st.integers(1, 40)
)
COUNTERS = st.one_of(st.integers(0, (1 << 128) - 1), NEAR_ENDS)
OFFSETS = st.lists(st.one_of(st.integers(0, 50), st.integers(0, 1 << 33), WORDS_64), min_size=1, max_size=20)


def expected(key, counter, offsets):
    return [list(one_block(key, (counter + offset) % (1 << 128))) for offset in offsets]


@given(key=WORDS_64, counter=COUNTERS, offsets=OFFSETS)
def test_many_blocks_are_those_of_each_counter(key, counter, offsets):
    with np.errstate(over="ignore"):
        blocks = many_blocks(key, counter, np.array(offsets, np.uint64))
    assert blocks.dtype == np.uint32
    assert blocks.tolist() == expected(key, counter, offsets)


@given(
    key=WORDS_64, parts=st.lists(st.tuples(COUNTERS, st.one_of(OFFSETS, st.just([]))), min_size=1, max_size=4)
)
def test_joint_blocks_are_those_of_each_counter(key, parts):
    ascending = [(counter, sorted(offsets)) for counter, offsets in parts]
    with np.errstate(over="ignore"):
        made = joint_blocks(key, [(counter, np.array(offsets, np.uint64)) for counter, offsets in ascending])
    assert [blocks.tolist() for blocks in made] == [expected(key, *part) for part in ascending]


@pytest.mark.parametrize("chunk", [10, 11, 100])
def test_more_joint_blocks_than_a_chunk_are_computed_apart(monkeypatch, chunk):
    monkeypatch.setattr(philox, "CHUNK", chunk)
    made = joint_blocks(5, [(counter, np.arange(5, dtype=np.uint64)) for counter in (7, 1 << 40)])
    assert [blocks.tolist() for blocks in made] == [expected(5, c, range(5)) for c in (7, 1 << 40)]


@pytest.mark.parametrize("blocks", [7, 8, 9, 20])
def test_more_blocks_than_a_chunk_are_computed_in_parts(monkeypatch, blocks):
    monkeypatch.setattr(philox, "CHUNK", 8)
    counter = (1 << 32) - 10  # the second chunk carries into the next word
    assert many_blocks(5, counter, np.arange(blocks, dtype=np.uint64)).tolist() == expected(
        5, counter, range(blocks)
    )
