"""Arrays survive the way to JSON and back; any other body is rejected, never a crash."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.serve.rest.server import TYPES

from tfport.graph.dtypes import DType
from tfport.graph.model import Signature, TensorSpec
from tfport.graph.shapes import UNKNOWN
from tfport.serve.rest import encode as encode_module
from tfport.serve.rest.decode import TensorLayout, decode
from tfport.serve.rest.encode import encode, printed
from tfport.serve.rest.examples_json import classes_json, decode_examples, regressions_json
from tfport.serve.status import StatusError

NUMERIC = [name for name in TYPES if name not in ("string", "bfloat16")]


def of_type(name: str) -> Signature:
    spec = TensorSpec(("x:0",), DType.parse(name), UNKNOWN)
    return Signature("serving_default", "", {"x": spec}, {"x": spec})


def again(body: bytes, name: str) -> np.ndarray:
    """Decode an answer that is sent back as a request."""
    asked = body.replace(b'"outputs"', b'"inputs"', 1).replace(b'"predictions"', b'"instances"', 1)
    return decode(asked, lambda _: of_type(name)).inputs["x"]


def arrays(name: str, least: int = 0) -> Any:
    shape = hnp.array_shapes(min_dims=least, max_dims=4, min_side=least, max_side=4)
    return hnp.arrays(DType.parse(name).numpy, shape)


@pytest.mark.parametrize("form", TensorLayout)
@pytest.mark.parametrize("name", NUMERIC)
@given(data=st.data())
def test_numbers_come_back(name, form, data):
    array = data.draw(arrays(name, 0 if form is TensorLayout.COLUMNS else 1))
    body = encode({"x": array}, of_type(name).outputs, form)
    array_read = again(body, name)
    assert array_read.dtype == array.dtype
    assert array_read.shape == array.shape or array.size == 0
    np.testing.assert_array_equal(array_read, array.reshape(array_read.shape))


@given(hnp.arrays(object, hnp.array_shapes(max_dims=3, max_side=3), elements=st.binary(max_size=5)))
def test_bytes_come_back(array):
    """Bytes survive as text, even if they are not UTF-8, and as base64."""
    for name in ("x", "x_bytes"):
        text = printed(array, name)
        array_read = again(b'{"outputs": %s}' % text, "string")
        np.testing.assert_array_equal(array_read, array)


@given(hnp.arrays(np.float32, hnp.array_shapes(min_side=0, max_dims=3)))
def test_literals_stand_where_the_numbers_were(array):
    array_read = np.array(json.loads(printed(array)), np.float32).reshape(array.shape)
    np.testing.assert_array_equal(array_read, array)


@given(st.lists(st.tuples(st.floats(width=32), st.integers(-128, 127), st.text(max_size=3)), min_size=1))
def test_rows_of_several_outputs_hold_each_its_values(rows):
    columns = {
        "f%s": np.array([row[0] for row in rows], np.float32),
        "i": np.array([[row[1]] for row in rows], np.int8),
        'a"b': np.array([row[2].encode() for row in rows], object),
    }
    specs = {
        name: TensorSpec((), DType.parse(kind), UNKNOWN)
        for name, kind in zip(columns, ("float32", "int8", "string"), strict=True)
    }
    rows_read = json.loads(encode(columns, specs, TensorLayout.ROWS))["predictions"]
    assert [row["i"] for row in rows_read] == [[row[1]] for row in rows]
    assert [row['a"b'] for row in rows_read] == [row[2] for row in rows]
    np.testing.assert_array_equal(np.array([row["f%s"] for row in rows_read], np.float32), columns["f%s"])


@given(
    hnp.arrays(np.float32, hnp.array_shapes(min_side=0, max_dims=4))
    | hnp.arrays(object, hnp.array_shapes(min_side=0, max_dims=3), elements=st.binary(max_size=2))
)
def test_large_arrays_are_printed_in_slices_with_the_same_text(array):
    whole = printed(array)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode_module, "SLICE", 2)
        assert printed(array) == whole


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "b64", "y"]), inner, max_size=2)
    ),
    max_leaves=8,
)
KEYS = ["instances", "inputs", "signature_name", "examples", "context"]


def refusal(body: bytes, name: str) -> list[str]:
    """Return the errors of both decoders for a body."""
    refused = []
    for read in (lambda: decode(body, lambda _: of_type(name)), lambda: decode_examples(body)):
        try:
            read()
        except StatusError as error:
            refused.append(error.message)
    return refused


@given(st.dictionaries(st.sampled_from(KEYS), ANY_JSON), st.sampled_from(TYPES))
def test_any_json_is_read_or_refused_with_a_reason(document, name):
    reasons = refusal(json.dumps(document).encode(), name)
    assert not [reason for reason in reasons if "formatted correctly for the inputs" in reason]


@given(st.binary(max_size=40) | st.text('[]{}",:0123456789.eE-+ NaInfty\\ultrs', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(body):
    assert all(refusal(body, "float32"))


@pytest.mark.parametrize("part", [b'"\\"', b'Inf "', b"[[", b'{"', b"\\", b"-", b"NaN,", b"1e9,"])
def test_long_invalid_text_is_scanned_once(part):
    assert len(refusal(b'{"inputs": [Inf, ' + part * 200_000, "float32")) == 2


@given(st.lists(ANY_JSON, min_size=1, max_size=4), st.sampled_from(TYPES))
def test_what_is_read_is_what_numpy_reads(rows, name):
    """Every value accepted as a tensor is a regular nested list."""
    try:
        array_read = decode(json.dumps({"instances": rows}).encode(), lambda _: of_type(name)).inputs["x"]
    except StatusError:
        return
    if name in NUMERIC and not isinstance(rows[0], dict):
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(array_read, np.array(rows).astype(array_read.dtype))


TWO = {"a": np.float32([[0.5, 2], [3, 4]]), "b": np.int64([1, 2])}
STRINGS = {"a": np.array([[b"x", b'"'], [b"", b"z"]], object)}
TEXTS = [  # outputs, rows as the writer of TensorFlow Serving prints them
    ({"a": np.float32([1, 2.5])}, '{\n    "predictions": [1.0, 2.5\n    ]\n}'),
    ({"a": np.float32([[1, 2], [3, 4]])}, '{\n    "predictions": [[1.0, 2.0], [3.0, 4.0]\n    ]\n}'),
    ({"a": np.zeros((0, 2), np.float32)}, '{\n    "predictions": []\n}'),
    ({"a": np.zeros((2, 0), np.int32)}, '{\n    "predictions": [[], []\n    ]\n}'),
    ({"a": np.array([True, False])}, '{\n    "predictions": [true, false\n    ]\n}'),
    (STRINGS, '{\n    "predictions": [["x", "\\""], ["", "z"]\n    ]\n}'),
    (
        TWO,
        """{
    "predictions": [
        {
            "a": [0.5, 2.0],
            "b": 1
        },
        {
            "a": [3.0, 4.0],
            "b": 2
        }
    ]
}""",
    ),
    ({name: array[:0] for name, array in TWO.items()}, '{\n    "predictions": []\n}'),
]


@pytest.mark.parametrize(("outputs", "text"), TEXTS)
def test_rows_have_the_lines_and_spaces_of_tensorflow_serving(outputs, text):
    types = {name: "string" if array.dtype == object else array.dtype.name for name, array in outputs.items()}
    specs = {name: TensorSpec(("x:0",), DType.parse(dtype), UNKNOWN) for name, dtype in types.items()}
    assert encode(outputs, specs, TensorLayout.ROWS).decode() == text


def test_results_have_the_lines_and_spaces_of_tensorflow_serving():
    classes = [[("a", 0.5), ("b", 2)], [("c", 1)]]
    assert classes_json(classes) == b'{\n    "results": [[["a", 0.5], ["b", 2.0]], [["c", 1.0]]\n    ]\n}'
    assert regressions_json([1, 2.5]) == b'{\n    "results": [1.0, 2.5]\n}'


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0), (0, 2), (2, 0, 3, 0), (1, 2, 2)])
def test_strings_of_any_shape_are_nested_as_they_are(shape):
    array = np.full(shape, b"x", object)
    assert json.loads(printed(array if shape else b"x")) == np.full(shape, "x", object).tolist()
