"""Large bodies have a separate decoder: results and errors are the same."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.serve.rest.server import TYPES

from tfport.graph.dtypes import DType
from tfport.graph.model import Signature, TensorSpec
from tfport.graph.shapes import UNKNOWN
from tfport.serve.rest.decode import decode
from tfport.serve.rest.numbers import KEPT, LARGE, numbers_of, shape_of
from tfport.serve.status import StatusCode, StatusError

pytest.importorskip("simdjson")
NUMBERS = [name for name in TYPES if name not in ("string", "bool")]


def taking(**inputs: str) -> Signature:
    specs = {name: TensorSpec((f"{name}:0",), DType.parse(kind), UNKNOWN) for name, kind in inputs.items()}
    return Signature("serving_default", "", specs, specs)


def large(body: bytes, size: int = LARGE) -> bytes:
    """Make a body large with leading spaces."""
    return b" " * size + body


def answer(body: bytes, signature: Signature) -> Any:
    """Return the decoded arrays, or the error."""
    try:
        request = decode(body, lambda _: signature)
    except StatusError as refused:
        return refused.code, refused.message.partition(" at offset")[0]
    arrays = {name: (a.dtype, a.shape, a.tobytes()) for name, a in request.inputs.items()}
    return request.layout, arrays


@pytest.mark.parametrize("name", NUMBERS)
@given(data=st.data())
def test_numbers_are_read_without_objects(name, data):
    dtype = DType.parse(name)
    drawn = np.float32 if name == "bfloat16" else dtype.numpy
    elements = {"elements": st.floats(-1e4, 1e4, width=16)} if drawn != dtype.numpy else {}
    if np.dtype(drawn).kind == "f":
        elements = {"elements": {"allow_nan": False, "allow_infinity": False}} | elements
    array = data.draw(hnp.arrays(drawn, hnp.array_shapes(max_dims=5, max_side=4), **elements))
    body = large(json.dumps({"instances": array.tolist()}).encode())
    numbers = numbers_of(body, lambda _: taking(x=name))
    assert numbers is not None
    np.testing.assert_array_equal(numbers[2]["x"], array.astype(dtype.numpy))
    assert numbers[2]["x"].dtype == dtype.numpy


VALUES = st.recursive(
    st.integers(-300, 300) | st.floats(width=16) | st.sampled_from([2**63, -(2**63), 2**64, 1e300]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=12,
)
ODD = st.recursive(
    VALUES | st.text(max_size=2) | st.booleans() | st.none(), lambda inner: st.lists(inner, max_size=3)
)
DOCUMENTS = st.one_of(
    st.fixed_dictionaries({"instances": VALUES}, optional={"signature_name": st.text() | ODD}),
    st.fixed_dictionaries({"inputs": VALUES | ODD | st.dictionaries(st.sampled_from("xyz"), VALUES | ODD)}),
    st.dictionaries(st.sampled_from(["instances", "inputs", "signature_name", "[,]"]), ODD),
)


@pytest.mark.parametrize("inputs", [{"x": "float32"}, {"x": "int8"}, {"x": "uint64", "y": "float64"}])
@given(document=DOCUMENTS)
@example({"instances": [[], [1.0]]})
@example({"instances": [[1.0, 2.0, 3.0], [4.0]]})
@example({"inputs": {"x": [1], "y": [[2]]}})
@example({"inputs": {"y": [1.5], "x": [[2]]}})
@example({"signature_name": "[,]", "instances": [["1"]]})
def test_large_documents_decode_like_small_ones(inputs, document):
    body, signature = json.dumps(document).encode(), taking(**inputs)
    assert answer(large(body), signature) == answer(body, signature)


BODIES = [
    b'{"instances": [-0, 0, -0.0, 1e2, 1E+2, 1e-400, 1e400]}',
    b'{"instances": [1], "instances": [2]}',
    b'{"inputs": {"x": [1, 2], "x": [3]}}',
    b'{"instances": [1]} trailing',
    b'{"instances": [01]}',
    b'{"instances": [1, 2,]}',
    b'{"instances": [1, NaN]}',
    b'{"instances": 7}',
    b'{"instances": [[1, 2], 3]}',
    b'{"instances": [3, [1, 2]]}',
    b'{"signature_name": 7, "instances": [1]}',
    b'{"instances": ' + b"[" * 5000 + b"1" + b"]" * 5000 + b"}",
    b"[[1, 2]]",
    b'{"instances": [18446744073709551615]}',
]


KINDS = ["float32", "float16", "int64", "uint64", "uint8", "bool", "string"]
NOT_IN_JSON = ["int4", "float8_e5m2", "complex64", "qint8", "resource"]


@pytest.mark.parametrize("kind", KINDS + NOT_IN_JSON)
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:40].decode())
def test_large_unusual_bodies_decode_like_small_ones(body, kind):
    signature = taking(x=kind)
    assert answer(large(body), signature) == answer(body, signature)
    assert answer(large(body, KEPT), signature) == answer(body, signature)


@pytest.mark.parametrize("text", ["[", "[,", "[]", "[1,", "]"])
def test_long_invalid_lists_are_scanned_once(text):
    body = json.dumps({"instances": [text * 500_000]}).encode()
    assert answer(body, taking(x="float32"))[0] is StatusCode.INVALID_ARGUMENT


@given(hnp.array_shapes(max_dims=6, max_side=4))
def test_a_shape_is_seen_in_brackets_and_commas(shape):
    text = json.dumps(np.zeros(shape, int).tolist())
    assert shape_of(text.replace("0", "").replace(" ", "").encode()) == list(shape)


@pytest.mark.parametrize(
    "skeleton", ["[[,],[]]", "[[],]", "[,[]]", "[[,],[,]", "[[[,]],[[,],[,]]]", "[]]", "["]
)
def test_lists_of_unequal_length_have_no_shape(skeleton):
    assert shape_of(skeleton.encode()) is None
