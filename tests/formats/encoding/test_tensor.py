"""TensorProto to NumPy and back, and malformed ones."""

from contextlib import suppress

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from tfport.errors import UnreadableFile
from tfport.formats.encoding.tensor import MANY, NUMPY, TYPED_LIST, from_numpy, to_numpy, type_name
from tfport.formats.proto import graph_pb2 as pb

NUMBERS = sorted(number for number, kind in NUMPY.items() if not kind.hasobject)


def proto(dtype, shape, **fields):
    out = pb.TensorProto(dtype=dtype, **fields)
    for size in shape:
        out.tensor_shape.dim.add(size=size)
    return out


@st.composite
def arrays(draw):
    """An array of any type that has elements, from any bits."""
    number = draw(st.sampled_from(NUMBERS))
    kind = NUMPY[number]
    shape = draw(nps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    size = int(np.prod(shape))
    if kind.name in ("int2", "uint2", "int4", "uint4", "bool", "float4_e2m1fn"):  # not every byte is one
        flat = np.array([draw(st.integers(0, 1)) for _ in range(size)]).astype(kind)
    else:
        flat = np.frombuffer(
            draw(st.binary(min_size=size * kind.itemsize, max_size=size * kind.itemsize)), kind
        )
    return number, flat.reshape(shape)


@given(arrays())
def test_what_is_written_is_read(case):
    number, array = case
    read = to_numpy(from_numpy(array, number))
    assert (read.dtype, read.shape, read.tobytes()) == (array.dtype, array.shape, array.tobytes())


@given(st.lists(st.binary(max_size=200), max_size=6))
def test_strings_are_bytes_in_an_object_array(words):
    array = np.empty(len(words), object)
    array[:] = words
    assert to_numpy(from_numpy(array, pb.DT_STRING)).tolist() == words


LISTS = [  # a typed list, the array that it means
    (proto(pb.DT_FLOAT, (2, 2), float_val=[1, 2]), np.array([[1, 2], [2, 2]], np.float32)),
    (proto(pb.DT_FLOAT, (3,)), np.zeros(3, np.float32)),
    (proto(pb.DT_INT8, (2,), int_val=[-1]), np.array([-1, -1], np.int8)),
    (proto(pb.DT_UINT16, (1,), int_val=[65535]), np.array([65535], np.uint16)),
    (proto(pb.DT_HALF, (2,), half_val=[15360, 16384]), np.array([1, 2], np.float16)),
    (proto(pb.DT_BFLOAT16, (1,), half_val=[16256]), np.array([1]).astype(NUMPY[pb.DT_BFLOAT16])),
    (proto(pb.DT_COMPLEX64, (1,), scomplex_val=[1, 2]), np.array([1 + 2j], np.complex64)),
    (proto(pb.DT_FLOAT8_E5M2, (1,), float8_val=b"<"), np.array([1]).astype(NUMPY[pb.DT_FLOAT8_E5M2])),
    (proto(pb.DT_BOOL, (), bool_val=[True]), np.array(True)),
    (proto(pb.DT_STRING, (2,), string_val=[b"a"]), np.array([b"a", b"a"], object)),
]


@pytest.mark.parametrize(
    ("tensor", "array"), LISTS, ids=lambda p: type_name(p.dtype) if hasattr(p, "tensor_shape") else ""
)
def test_a_short_list_is_filled_with_its_last_element(tensor, array):
    read = to_numpy(tensor)
    assert read.dtype == array.dtype
    assert read.tolist() == array.tolist()


def test_one_element_for_a_huge_tensor_takes_no_memory():
    read = to_numpy(proto(pb.DT_FLOAT, (1 << 20, 1 << 19), float_val=[1.5]))
    assert read.shape == (1 << 20, 1 << 19)
    assert read[-1, -1] == 1.5


def test_arrays_cannot_be_written_to():
    assert not to_numpy(proto(pb.DT_FLOAT, (2,), float_val=[1, 2])).flags.writeable


EMPTY = [  # TensorFlow ignores the content of a tensor without elements
    proto(pb.DT_STRING, (0, 1, 2), string_val=[b"x"]),
    proto(pb.DT_STRING, (0,), tensor_content=b"abc"),
    proto(pb.DT_FLOAT, (2, 0), float_val=[1, 2, 3]),
    proto(pb.DT_FLOAT, (0,), tensor_content=b"abc"),
    proto(pb.DT_HALF, (0,), half_val=[15360]),
    proto(pb.DT_COMPLEX64, (0,), scomplex_val=[1]),
]


@pytest.mark.parametrize("tensor", EMPTY, ids=str)
def test_a_tensor_without_elements_may_store_some(tensor):
    array = to_numpy(tensor)
    assert array.shape == tuple(dim.size for dim in tensor.tensor_shape.dim)
    assert array.dtype == NUMPY[tensor.dtype]


TOO_LONG = [  # TensorFlow ignores the end of a list, of every type
    (proto(pb.DT_FLOAT, (2,), float_val=[1, 2, 3]), [1, 2]),
    (proto(pb.DT_DOUBLE, (), double_val=[1, 2]), 1),
    (proto(pb.DT_INT8, (2,), int_val=[1, 2, 3]), [1, 2]),
    (proto(pb.DT_INT64, (2, 1), int64_val=[1, 2, 3]), [[1], [2]]),
    (proto(pb.DT_UINT32, (1,), uint32_val=[1, 2]), [1]),
    (proto(pb.DT_UINT64, (1,), uint64_val=[1, 2]), [1]),
    (proto(pb.DT_BOOL, (2,), bool_val=[True, False, True]), [True, False]),
    (proto(pb.DT_STRING, (1,), string_val=[b"a", b"b"]), [b"a"]),
    (proto(pb.DT_HALF, (1,), half_val=[15360, 16384]), [1]),
    (proto(pb.DT_COMPLEX64, (1,), scomplex_val=[1, 2, 3, 4]), [1 + 2j]),
    (proto(pb.DT_COMPLEX128, (1,), dcomplex_val=[1, 2, 3, 4]), [1 + 2j]),
]


@pytest.mark.parametrize(("tensor", "elements"), TOO_LONG, ids=str)
def test_the_end_of_a_list_that_is_too_long_is_ignored(tensor, elements):
    assert to_numpy(tensor).tolist() == elements


@pytest.mark.parametrize(
    ("dtype", "name", "kind", "parts"),
    [
        (pb.DT_FLOAT, "float_val", np.float32, 1),
        (pb.DT_DOUBLE, "double_val", np.float64, 1),
        (pb.DT_COMPLEX64, "scomplex_val", np.float32, 2),
        (pb.DT_COMPLEX128, "dcomplex_val", np.float64, 2),
    ],
)
@pytest.mark.parametrize("more", [0, 1, 5])
def test_a_long_list_of_floats(dtype, name, kind, parts, more):
    values = np.linspace(-1, 1, MANY + more, dtype=kind)
    values[3:6] = [np.nan, -0.0, np.inf]
    size = len(values) // parts
    read = to_numpy(proto(dtype, (size,), **{name: values.tolist(), "version_number": 7}))
    assert read.dtype == NUMPY[dtype]
    assert read.flags.aligned
    assert not read.flags.writeable
    np.testing.assert_array_equal(read.view(kind), values[: size * parts])


REFUSED = [
    (proto(pb.DT_RESOURCE, ()), "a tensor of type DT_RESOURCE cannot be converted to an array"),
    (proto(pb.DT_FLOAT, (-1,)), r"a DT_FLOAT tensor has the invalid shape \[-1\]"),
    (proto(pb.DT_FLOAT, (1 << 30, 1 << 30)), "a DT_FLOAT tensor has the invalid shape"),
    (proto(pb.DT_FLOAT, (1,) * 40), "a DT_FLOAT tensor must have at most 32 axes, found more"),
    (proto(pb.DT_FLOAT, (1 << 35,), float_val=[1, 2]), "is too large to expand from 2 elements"),
    (
        proto(pb.DT_FLOAT, (1,), tensor_content=bytes(8)),
        r"tensor of shape \[1\] must have 1 elements, found 2",
    ),
    (
        proto(pb.DT_FLOAT, (2,), tensor_content=bytes(4)),
        r"tensor of shape \[2\] must have 2 elements, found 1",
    ),
    (proto(pb.DT_FLOAT, (1,), tensor_content=b"abc"), "3 bytes of tensor content are not a multiple of"),
    (proto(pb.DT_STRING, (1,), tensor_content=b"abc"), "3 bytes of tensor content are not a multiple of"),
]


@pytest.mark.parametrize(("tensor", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_a_malformed_tensor_is_refused(tensor, message):
    with pytest.raises(UnreadableFile, match=message):
        to_numpy(tensor)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_tensor_or_an_error(data):
    with suppress(DecodeError, UnreadableFile):
        assert isinstance(to_numpy(pb.TensorProto.FromString(data)), np.ndarray)


def test_every_type_with_elements_has_a_list():
    assert TYPED_LIST.keys() == NUMPY.keys()
    assert set(TYPED_LIST.values()) <= set(pb.TensorProto.DESCRIPTOR.fields_by_name)
