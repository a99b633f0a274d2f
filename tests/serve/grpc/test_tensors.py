"""Tensors on the wire: protobuf reads what tfport writes, and the other way round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfport.errors import UnreadableFile
from tfport.formats.encoding.tensor import NUMPY, to_numpy, type_name
from tfport.formats.proto import graph_pb2
from tfport.formats.proto import serving_wire_pb2 as wire
from tfport.serve.grpc.tensors import CHUNK, array_of, write_tensor, write_varints

U64 = st.integers(0, 2**64 - 1) | st.integers(0, 300)


def sample(kind: np.dtype) -> np.ndarray:
    if kind.hasobject:
        return np.array([[b"a", b""], [b"\xff", b"long" * 50]], object)
    if kind == np.bool_:
        return np.array([[True, False], [False, True]])
    with np.errstate(all="ignore"):
        return np.array([[1, -1], [4, -6]], np.int64).astype(kind)


def written(array: np.ndarray, number: int, *, content: bool = False) -> graph_pb2.TensorProto:
    out = wire.TensorToWrite()
    write_tensor(out, array, number, content=content)
    return graph_pb2.TensorProto.FromString(out.SerializeToString())


def read(proto: graph_pb2.TensorProto) -> np.ndarray:
    return array_of(wire.TensorToRead.FromString(proto.SerializeToString()))


@pytest.mark.parametrize("content", [False, True], ids=["typed", "content"])
@pytest.mark.parametrize("number", NUMPY, ids=type_name)
def test_every_type_matches_protobuf(number, content):
    array = sample(NUMPY[number])
    proto = written(array, number, content=content)
    assert proto.dtype == number
    for result in (to_numpy(proto), read(proto)):
        assert (result.dtype, result.shape) == (array.dtype, array.shape)
        assert result.tolist() == array.tolist()


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 1, 1)], ids=str)
@pytest.mark.parametrize("number", [1, 7, 9, 10, 19], ids=type_name)
def test_every_shape_comes_back(number, shape):
    array = np.zeros(shape, NUMPY[number])
    if array.dtype.hasobject:
        array[...] = b"x"
    assert read(written(array, number)).shape == shape


@given(st.lists(U64))
def test_integers_are_written_as_protobuf_does(numbers):
    ours = write_varints(np.array(numbers, np.uint64))
    theirs = graph_pb2.TensorProto(uint64_val=numbers).SerializeToString()
    assert theirs.endswith(ours)
    assert list(graph_pb2.TensorProto.FromString(theirs).uint64_val) == numbers


def test_integers_of_several_chunks_are_complete():
    numbers = np.arange(3 * CHUNK + 5, dtype=np.int64) - CHUNK
    assert (read(written(numbers, graph_pb2.DT_INT64)) == numbers).all()


def test_a_type_that_the_signature_gets_wrong_is_the_array_s():
    assert written(np.zeros(1, np.int64), graph_pb2.DT_FLOAT).dtype == graph_pb2.DT_INT64


def test_floats_that_are_not_packed_are_read():
    packed = graph_pb2.TensorProto(dtype=1, tensor_shape={"dim": [{"size": 3}]})
    unpacked = b"".join(b"\x2d" + np.float32(value).tobytes() for value in (1, 2, 3))
    tensor = wire.TensorToRead.FromString(packed.SerializeToString() + unpacked)
    assert array_of(tensor).tolist() == [1, 2, 3]


def test_lists_in_several_pieces_are_one():
    head = graph_pb2.TensorProto(dtype=1, tensor_shape={"dim": [{"size": 3}]}).SerializeToString()
    pieces = [graph_pb2.TensorProto(float_val=part).SerializeToString() for part in ([1], [2, 3])]
    assert array_of(wire.TensorToRead.FromString(head + b"".join(pieces))).tolist() == [1, 2, 3]


def test_bools_of_any_byte_are_true_or_false():
    proto = graph_pb2.TensorProto(dtype=10, tensor_content=b"\x00\x01\x02")
    proto.tensor_shape.dim.add(size=3)
    assert read(proto).view(np.uint8).tolist() == [0, 1, 1]


REFUSED = [  # bytes of a field, after a float tensor's head      why
    (b"\x2a\x03abc", "3 bytes are not a whole number of float32 elements"),
    (b"\x2a\x03abc\x2d1234", "invalid elements of a DT_FLOAT tensor"),
    (b"\x12\x02\x18\x01", "invalid shape"),
]


@pytest.mark.parametrize(("data", "why"), REFUSED, ids=str)
def test_damaged_tensors_are_rejected(data, why):
    head = graph_pb2.TensorProto(dtype=1, tensor_shape={"dim": [{"size": 1}]}).SerializeToString()
    with pytest.raises(UnreadableFile, match=why):
        array_of(wire.TensorToRead.FromString(head + data))


def test_more_axes_than_numpy_has_are_refused():
    proto = graph_pb2.TensorProto(dtype=1, tensor_shape={"dim": [{"size": 1}] * 40})
    with pytest.raises(UnreadableFile, match="invalid shape"):
        read(proto)


@pytest.mark.parametrize("sizes", [(0, 2**62), (2**62, 0), (2**40, 0, 2**40)], ids=str)
def test_a_shape_that_no_array_can_have_is_rejected_also_if_it_is_empty(sizes):
    proto = graph_pb2.TensorProto(dtype=1, tensor_shape={"dim": [{"size": size} for size in sizes]})
    with pytest.raises(UnreadableFile, match="too large"):
        read(proto)
    with pytest.raises(UnreadableFile, match="too large"):
        to_numpy(proto)
