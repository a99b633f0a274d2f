import json

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

from tfport.formats.proto import inference_pb2 as pb
from tfport.serve.status import StatusError
from tfport.serve.v2 import tensors

NUMERIC = sorted(set(tensors.NUMPY) - {"BYTES"})
SHAPES = hn.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@st.composite
def arrays(draw, names=tuple(tensors.NUMPY)):
    """A datatype and an array of it."""
    name = draw(st.sampled_from(names))
    shape = draw(SHAPES)
    size = int(np.prod(shape))
    if name == "BYTES":
        array = np.empty(size, object)
        array[:] = draw(st.lists(st.binary(max_size=9), min_size=size, max_size=size))
        return name, array.reshape(shape)
    kind = tensors.NUMPY[name]
    raw = draw(st.binary(min_size=size * kind.itemsize, max_size=size * kind.itemsize))
    array = (np.frombuffer(raw, np.uint8) & 1).view(bool) if name == "BOOL" else np.frombuffer(raw, kind)
    return name, array.reshape(shape)


def same(a, b):
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    assert a.tolist() == b.tolist() if a.dtype.hasobject else a.tobytes() == b.tobytes()


@given(arrays())
def test_raw_bytes_come_back_as_the_same_array(case):
    name, array = case
    same(tensors.from_raw(name, array.shape, memoryview(tensors.to_raw(array)), "x"), array)


@given(arrays(NUMERIC), st.booleans())
def test_json_comes_back_as_the_same_numbers(case, nested):
    name, array = case
    text = orjson.dumps(tensors.to_json(array), option=orjson.OPT_SERIALIZE_NUMPY)
    data = json.loads(text)
    if nested and array.ndim:
        data = np.array(data, object).reshape(array.shape).tolist()
    again = tensors.from_json(name, array.shape, data, "x")
    assert again.dtype == array.dtype
    wide = array.dtype if array.dtype.kind in "iub" else np.float64
    with np.errstate(invalid="ignore"):  # for signaling NaNs
        np.testing.assert_array_equal(again.astype(wide), array.astype(wide))


@given(arrays(sorted(tensors.CONTENTS)))
def test_typed_lists_come_back_as_the_same_array(case):
    name, array = case
    contents = pb.InferTensorContents(**{tensors.CONTENTS[name]: array.ravel().tolist()})
    again = tensors.from_contents(name, array.shape, contents, "x")
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(again, array)


REFUSED = [  # datatype, shape, data, message
    ("FP32", (2,), [1.0], "Shape does not match true shape"),
    ("FP32", (1,), [[[[1.0, 2.0]]]], "Shape does not match true shape"),
    ("FP32", (2,), [1.0, [2.0]], "expected elements of type FP32"),
    ("FP32", (2,), [[1.0], 2.0], "mixed"),
    ("FP32", (1,), ["1.0"], "expected elements of type FP32"),
    ("FP32", (1,), [None], "expected elements of type FP32"),
    ("FP32", (1,), [True], "expected elements of type FP32"),
    ("FP32", (1,), 1.0, "expected a list"),
    ("FP32", (1,), None, "expected a list"),
    ("FP64", (1,), [10**400], "outside the range"),
    ("INT32", (1,), [1.5], "expected elements of type INT32"),
    ("INT8", (1,), [128], "outside the range of INT8"),
    ("UINT8", (1,), [-1], "outside the range of UINT8"),
    ("UINT16", (1,), [2**16], "outside the range of UINT16"),
    ("INT64", (1,), [2**63], "outside the range of INT64"),
    ("UINT64", (1,), [2**64], "outside the range of UINT64"),
    ("BOOL", (1,), [2], "expected elements of type BOOL"),
    ("BYTES", (1,), [5], "expected elements of type BYTES"),
    ("FP8", (1,), [5], "invalid datatype"),
    ("FP32", (0, 2**62), [], "invalid shape"),
]


@pytest.mark.parametrize(("datatype", "shape", "data", "message"), REFUSED)
def test_json_that_does_not_fit_is_refused(datatype, shape, data, message):
    with pytest.raises(StatusError, match=message):
        tensors.from_json(datatype, shape, data, "x")


BAD_RAW = [  # datatype, shape, bytes
    ("FP32", (2,), b"\0" * 7),
    ("FP32", (2,), b"\0" * 9),
    ("BYTES", (1,), b""),
    ("BYTES", (1,), b"\1\0\0"),
    ("BYTES", (1,), b"\2\0\0\0a"),
    ("BYTES", (1,), b"\1\0\0\0ab"),
    ("BYTES", (1,), b"\xff\xff\xff\xffa"),
    ("BYTES", (2**39,), b"\0\0\0\0"),
    ("BYTES", (0,), b"\0\0\0\0"),
]


@pytest.mark.parametrize(("datatype", "shape", "raw"), BAD_RAW)
def test_bytes_that_do_not_fit_are_refused(datatype, shape, raw):
    with pytest.raises(StatusError):
        tensors.from_raw(datatype, shape, raw, "x")


@pytest.mark.parametrize(
    "sizes", [None, 3, "12", {"a": 1}, [-1], [1.0], [True], [None], [2**41], [1] * 33, [2**62, 2**62]]
)
def test_shapes_that_no_array_has_are_refused(sizes):
    with pytest.raises(StatusError, match="shape"):
        tensors.shape_of(sizes, "x")


def test_a_byte_of_a_bool_may_be_any_but_zero():
    assert tensors.from_raw("BOOL", (3,), b"\0\1\xff", "x").tolist() == [False, True, True]


def test_nan_and_infinities_are_written_as_triton_writes_them():
    array = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
    assert orjson.dumps(tensors.to_json(array)) == b"[NaN,Infinity,-Infinity,1.0]"
