"""Values keep their type, shape and content on the way to another process."""

import socket

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.serve.rest.server import TYPES

from tfport.graph.dtypes import DType
from tfport.serve.workers.transfer import MemoryFile, pack, receive, send, unpack

STRINGS = hnp.arrays(
    object, hnp.array_shapes(min_dims=0, min_side=0, max_dims=3), elements=st.binary(max_size=9)
)
KINDS = [DType.parse(name).numpy for name in TYPES if name not in ("string", "bfloat16")]
ARRAYS = hnp.arrays(st.sampled_from(KINDS), hnp.array_shapes(min_dims=0, min_side=0)) | STRINGS


@given(st.dictionaries(st.text(), ARRAYS, max_size=4))
def test_arrays_arrive_as_they_were(arrays):
    received = unpack(pack(arrays))
    assert received.keys() == arrays.keys()
    for name, array in arrays.items():
        assert (received[name].dtype, received[name].shape) == (array.dtype, array.shape)
        assert received[name].tolist() == array.tolist() or array.tobytes() == received[name].tobytes()


def test_bfloat16_arrives():
    array = np.array([[1.5, -2]], DType.parse("bfloat16").numpy)
    received = unpack(pack(array))
    assert (received.dtype, received.tolist()) == (array.dtype, [[1.5, -2]])


def test_files_go_with_a_value():
    body = MemoryFile()
    for part in (b"ab", b"", memoryview(b"c")):
        body.write(part)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, {"x": np.arange(3)}, body)
        value, (file,) = receive(theirs)
        assert value["x"].tolist() == [0, 1, 2]
        assert (len(file), bytes(file.view())) == (3, b"abc")
        ours.close()
        with pytest.raises(EOFError):
            receive(theirs)


def test_a_view_outlives_its_file():
    file = MemoryFile()
    file.write(b"content")
    view = file.view()
    file.close()
    file.close()
    assert bytes(view) == b"content"
    assert bytes(MemoryFile().view()) == b""
