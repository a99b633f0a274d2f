"""Blocks of shared memory: what one process puts there, the other one reads."""

import os

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tfport.serve.front_ends.shared_blocks import SharedBlocks

SIZE = 1 << 16


def test_the_other_process_reads_what_was_put():
    server = SharedBlocks.create(SIZE)
    front_end = SharedBlocks(os.dup(server.fd))
    place = front_end.put(b"hello")
    assert place is not None
    assert bytes(server.view(*place)) == b"hello"
    assert not server.view(*place).flags.writeable


def test_what_does_not_fit_is_not_put():
    blocks = SharedBlocks.create(SIZE)
    assert blocks.put(bytes(SIZE + 1)) is None
    assert blocks.put(b"") is None
    assert blocks.put(bytes(SIZE)) is not None
    assert blocks.put(b"a") is None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(1, SIZE // 4), st.integers(0, 7)), max_size=40))
def test_blocks_never_overlap_and_all_memory_comes_back(steps):
    blocks, used = SharedBlocks.create(SIZE), []
    for size, index in steps:
        content = np.random.default_rng(size).bytes(size)
        place = blocks.put(content)
        if place is not None:
            used.append((place, content))
        elif used:
            blocks.free(used.pop(index % len(used))[0])
        assert all(bytes(blocks.view(*place)) == content for place, content in used)
    for place, _ in used:
        blocks.free(place)
    assert blocks.free_bytes == SIZE
    assert blocks.put(bytes(SIZE)) is not None
