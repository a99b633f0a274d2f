"""Batches in the memory of a device: what is copied, how often, and from where."""

import gc

import numpy as np
import pytest

from tfport.runtime.engines.gpu.batch_uploads import BatchUploads
from tfport.runtime.engines.gpu.cuda_runtime import HostCopies, address_of
from tfport.runtime.engines.gpu.pinned_memory import PINNED, pin, unpin


class RecordingCopies(HostCopies):
    """The host in place of a GPU; records each copy and each allocation."""

    def __init__(self):
        self.up, self.down, self.allocated = [], [], []

    def pinned(self, size):
        self.allocated.append(size)
        return super().pinned(size)

    def to_device(self, stream, target, source, size):
        self.up.append((source, size))
        super().to_device(stream, target, source, size)

    def to_host(self, stream, target, source, size):
        self.down.append(size)
        super().to_host(stream, target, source, size)


def parts_of(*rows):
    return [np.random.default_rng(r).random((r, 5, 3)).astype(np.float32) for r in rows]


def test_rows_are_joined_and_missing_ones_repeat_the_last_request():
    uploads, parts = BatchUploads(RecordingCopies(), "cpu", 0), parts_of(1, 2)
    with uploads.batch({"x": parts}, 5) as inputs:
        batch = inputs["x"].numpy().copy()
    np.testing.assert_array_equal(batch[:3], np.concatenate(parts))
    np.testing.assert_array_equal(batch[3:], np.repeat(parts[1][:1], 2, axis=0))


def test_pinned_rows_are_copied_from_where_they_are():
    copies = RecordingCopies()
    memory = np.zeros(4096, np.uint8)
    pin(memory, copies)
    try:
        rows = [
            memory[0:240].view(np.float32).reshape(2, 30),
            memory[1024:1144].view(np.float32).reshape(1, 30),
        ]
        with BatchUploads(copies, "cpu", 0).batch({"x": rows}, 4):
            pass
        assert copies.up == [*((address_of(row), row.nbytes) for row in rows), (address_of(rows[1]), 120)]
        assert copies.allocated == []
    finally:
        unpin(memory, copies)
    assert not PINNED.has(memory)


def test_each_row_goes_once_through_pinned_memory_and_that_is_reused():
    copies = RecordingCopies()
    uploads = BatchUploads(copies, "cpu", 0)
    for _ in range(5):
        with uploads.batch({"x": parts_of(1, 2)}, 3):
            pass
    assert copies.allocated == [256]  # the 180 bytes of a batch, once
    assert [size for _, size in copies.up] == [60, 120] * 5


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "uint8"])
def test_types(dtype):
    array = np.arange(6).reshape(3, 2).astype(dtype)
    with BatchUploads(RecordingCopies(), "cpu", 0).batch({"x": [array[:1], array[1:]]}, 3) as inputs:
        np.testing.assert_array_equal(inputs["x"].numpy(), array)


def test_answers_share_a_pinned_buffer_until_nobody_needs_them():
    copies = RecordingCopies()
    uploads = BatchUploads(copies, "cpu", 0)
    array = np.arange(40, dtype=np.float32).reshape(4, 10)
    with uploads.batch({"x": [array]}, 4) as inputs:
        copies.allocated.clear()
        (first,) = uploads.download([inputs["x"]])
        (second,) = uploads.download([inputs["x"]])
        row = first[2:3]
        del first
        (third,) = uploads.download([inputs["x"]])
        assert copies.allocated == [256, 256, 256]  # the row keeps the first buffer
        np.testing.assert_array_equal(row, array[2:3])
        del row, second
        gc.collect()
        (fourth,) = uploads.download([inputs["x"]])
        assert copies.allocated == [256, 256, 256]
    assert copies.down == [160] * 4
    np.testing.assert_array_equal(third, array)
    np.testing.assert_array_equal(fourth, array)


def test_values_of_the_host_are_passed_on():
    copies = RecordingCopies()
    array = np.ones(3)
    assert BatchUploads(copies, "cpu", 0).download([array])[0] is array
    assert copies.down == []


def test_the_buffers_of_many_shapes_are_bounded():
    uploads = BatchUploads(RecordingCopies(), "cpu", 0)
    for rows in range(1, 30):
        with uploads.batch({"x": parts_of(1)}, rows) as inputs:
            assert inputs["x"].shape == (rows, 5, 3)
    assert len(uploads._slots) == 1
    assert len(uploads._slots[0]._buffers) == 8
