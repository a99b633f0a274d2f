import numpy as np
import pytest
from hypothesis import given, settings
from tests.graph.strategies import TENSORS

from tfport.errors import UnreadableFile
from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.dtypes import FLOAT32, INT32, STRING
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor


def message(dtype: int, *dims: int, **fields: object) -> pb.TensorProto:
    return pb.TensorProto(dtype=dtype, tensor_shape={"dim": [{"size": d} for d in dims]}, **fields)


@given(TENSORS)
@settings(max_examples=60)
def test_a_tensor_survives_a_round_trip(tensor):
    again = Tensor.from_proto(pb.TensorProto.FromString(tensor.to_proto().SerializeToString()))
    assert again == tensor
    assert again.shape == tensor.shape
    assert again.dtype == tensor.dtype


def test_type_and_shape_are_known_before_the_elements_are_read():
    asked = []
    tensor = Tensor(FLOAT32, Shape((2,)), load=lambda: asked.append(1) or np.ones(2, np.float32))
    assert (tensor.dtype, tensor.shape, str(tensor)) == (FLOAT32, Shape((2,)), "Tensor(float32, (2,))")
    assert not asked
    assert tensor.numpy().tolist() == [1, 1]
    assert asked


def test_the_same_elements_written_in_two_ways_are_equal():
    short = Tensor.from_proto(message(pb.DT_FLOAT, 3, float_val=[2]))
    full = Tensor.from_numpy(np.full(3, 2, np.float32), FLOAT32)
    assert short == full
    assert short != Tensor.from_numpy(np.full(3, 2, np.int32), INT32)
    assert short != Tensor.from_numpy(np.full((3, 1), 2, np.float32), FLOAT32)
    assert short != "float32"


def test_not_a_number_is_equal_to_itself():
    nan = Tensor.from_numpy(np.array(np.nan, np.float32), FLOAT32)
    assert nan == Tensor.from_proto(nan.to_proto())


INTEGERS = [
    message(pb.DT_INT32, 2, tensor_content=b"\xff\xff\xff\xff\2\0\0\0"),
    message(pb.DT_INT64, 1, 2, tensor_content=b"\1" + b"\0" * 7 + b"\xff" * 8),
    message(pb.DT_INT32, int_val=[-7]),
    message(pb.DT_INT64, 3, int64_val=[1, 2**40, -(2**40)]),
    message(pb.DT_INT32, 4, int_val=[5, 6]),
    message(pb.DT_INT32, 2),
    message(pb.DT_INT32, 0, tensor_content=b"\1\0\0\0"),
    message(pb.DT_INT8, 2, int_val=[300, -1]),
    message(pb.DT_UINT8, 1, 1, 1, tensor_content=b"\xff"),
]


@pytest.mark.parametrize("proto", INTEGERS, ids=range(len(INTEGERS)))
def test_integers_are_those_of_the_array(proto):
    tensor = Tensor.from_proto(proto)
    assert tensor.integers() == tensor.numpy().ravel().tolist()


def test_integers_of_an_invalid_tensor_are_refused():
    with pytest.raises(UnreadableFile, match="must have 3 elements, found 1"):
        Tensor.from_proto(message(pb.DT_INT32, 3, tensor_content=b"\0\0\0\0")).integers()


def test_strings_are_read_without_numpy():
    assert Tensor.from_proto(message(pb.DT_STRING, 2, string_val=[b"a", b"\xff"])).strings() == [
        b"a",
        b"\xff",
    ]
    assert Tensor.from_proto(message(pb.DT_STRING, 3, string_val=[b"a"])).strings() == [b"a", b"a", b"a"]
    assert Tensor.from_proto(message(pb.DT_STRING, string_val=[b"a"])).strings() == [b"a"]
    assert Tensor.from_proto(message(pb.DT_STRING, 0)).strings() == []
    assert Tensor.from_numpy(np.array([b"a", b"b"], object), STRING).strings() == [b"a", b"b"]


HOSTILE = [
    message(pb.DT_STRING, 1 << 40, string_val=[b"a"]),
    message(pb.DT_FLOAT, 2, float_val=[1, 2]),
    message(pb.DT_STRING, 1 << 62, 1 << 62, string_val=[b"a"]),
]


@pytest.mark.parametrize("proto", HOSTILE, ids=["huge", "float", "beyond"])
def test_other_tensors_have_no_strings(proto):
    with pytest.raises(UnreadableFile, match=r"^expected a list of strings, found a \w+ tensor of shape "):
        Tensor.from_proto(proto).strings()


def test_too_many_axes_are_refused():
    with pytest.raises(UnreadableFile, match=r"^a DT_FLOAT tensor must have at most 32 axes, found more$"):
        Tensor.from_proto(message(pb.DT_FLOAT, *[1] * 100, float_val=[1])).numpy()
