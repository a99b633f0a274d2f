import numpy as np
import pytest
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu
from tests.runtime.programs import session_of

from tfport.runtime.engines.gpu import pinned_memory
from tfport.runtime.engines.gpu.cuda_runtime import HostCopies, address_of
from tfport.runtime.engines.gpu.pinned_memory import LargeUploads


class Watched(HostCopies):
    """Remembers from where it copies."""

    def __init__(self):
        self.sources = []

    def to_device(self, stream, target, source, size):
        self.sources.append((source, size))
        super().to_device(stream, target, source, size)


@pytest.mark.parametrize("threads", [1, 3, 100])
@pytest.mark.parametrize("size", [1, 64, 65, 1000])
def test_all_parts_arrive(monkeypatch, threads, size):
    monkeypatch.setattr(pinned_memory, "PART", 64)
    array = np.random.default_rng(0).integers(0, 255, size, np.uint8)
    target = np.zeros(size, np.uint8)
    LargeUploads(HostCopies(), threads).copy(array, address_of(target))
    np.testing.assert_array_equal(target, array)


def test_pinned_memory_is_copied_from_where_it_is():
    copies = Watched()
    array, target = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    pinned_memory.pin(array.view(np.uint8), copies)
    try:
        LargeUploads(copies, 4).copy(array, address_of(target))
    finally:
        pinned_memory.unpin(array.view(np.uint8), copies)
    np.testing.assert_array_equal(target, array)
    assert copies.sources == [(address_of(array), array.nbytes)]


def test_which_arrays(monkeypatch):
    monkeypatch.setattr(pinned_memory, "LARGE", 64)
    uploads = LargeUploads(HostCopies(), 1)
    assert uploads.takes(np.zeros(16, np.float32))
    assert not uploads.takes(np.zeros(15, np.float32))
    assert not uploads.takes(np.zeros((8, 8), np.float32).T)
    assert not uploads.takes(5)


def test_large_inputs_of_an_island_are_copied_so(monkeypatch):
    monkeypatch.setattr(pinned_memory, "LARGE", 64)
    network = """
        x = Placeholder() {dtype=float32, shape=(?, 4)}
        a = Exp(x) {T=float32}
        b = Sqrt(a) {T=float32}
        c = Tanh(b) {T=float32}
        y = Exp(c) {T=float32}
    """
    engine = engine_on_cpu()
    engine._copies = copies = Watched()
    session = session_of(network, engine=engine)
    for rows, copied in ((3, 0), (4, 64), (4, 64)):
        copies.sources.clear()
        x = np.full((rows, 4), rows, np.float32)
        y = session.run("y:0", {"x:0": x})
        np.testing.assert_allclose(y, np.exp(np.tanh(np.sqrt(np.exp(x)))), rtol=1e-6)
        assert sum(size for _, size in copies.sources) == copied
