"""Which memory is pinned, and a pool of pinned buffers."""

import numpy as np

from tfport.runtime.engines.gpu.cuda_runtime import HostCopies
from tfport.runtime.engines.gpu.pinned_memory import PinnedPool, PinnedRanges


def test_only_whole_arrays_in_pinned_memory():
    ranges, memory = PinnedRanges(), np.zeros(100, np.uint8)
    assert not ranges.has(memory)
    inside = memory[10:60]
    ranges.add(inside)
    assert ranges.has(memory[10:60])
    assert ranges.has(memory[20:30])
    assert not ranges.has(memory[5:20])
    assert not ranges.has(memory[50:70])
    assert not ranges.has(memory[10:60:2])
    ranges.remove(inside)
    assert not ranges.has(memory[20:30])


def test_an_exhausted_pool_gives_ordinary_memory():
    class Counted(HostCopies):
        count = 0

        def pinned(self, size):
            self.count += 1
            return super().pinned(size)

    copies = Counted()
    pool = PinnedPool(copies, max_bytes=1024)
    taken = [pool.take(500) for _ in range(5)]
    assert [array.nbytes for array in taken] == [500] * 5
    assert copies.count == 2
