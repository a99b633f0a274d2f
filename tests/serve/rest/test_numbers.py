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
from tfport.serve.rest import flat_json, numbers
from tfport.serve.rest.decode import decode
from tfport.serve.rest.numbers import LARGE, numbers_of, shape_of
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
    arrays = {
        name: (a.dtype, a.shape, a.tolist() if a.dtype == object else a.tobytes())
        for name, a in request.inputs.items()
    }
    return request.layout, arrays


def answers_of_both_ways(body: bytes, inputs: dict[str, str], slice_size: int = 2**20) -> tuple[Any, Any]:
    """Return the answers with an object for each number, and without."""
    signature = taking(**inputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flat_json, "SLICE", slice_size)
        patch.setattr(numbers, "LARGE", len(body) + 1)
        with_objects = answer(body, signature)
        patch.setattr(numbers, "LARGE", 0)
        patch.setattr(numbers, "LARGE_OF_SEVERAL", 0)
        return with_objects, answer(body, signature)


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
    with_objects, without_objects = answers_of_both_ways(json.dumps(document).encode(), inputs)
    assert with_objects == without_objects


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
    assert answer(large(body, flat_json.SLICE), signature) == answer(body, signature)


# -- rows and columns of several inputs: text, so that keys can come twice and numbers in any spelling


INPUTS = {"x": "float32", "n": "int64", "s": "string", "image": "string", "h": "float16"}
NUMBER_TEXTS = ["0", "-0", "1.5", "1e2", "-2E-3", "9007199254740993", "18446744073709551615", "1e400", "0.1"]
ODD_TEXTS = [
    *(
        "NaN",
        "-Infinity",
        "null",
        "true",
        '"a"',
        "[]",
        "[1]",
        "[[1,2],[3]]",
        "{}",
        '{"b64":"YQ=="}',
        "01",
        "1 2",
    ),
    *(
        '{"b64":"?"}',
        '{"b64":1}',
        "1[",
        '5"x":1',
        "1.",
        "+1",
        "9" * 25,
        '"\\u0061"',
        '"\x01"',
        '"é"',
        "1,",
        "",
    ),
]
BLANKS = st.sampled_from(["", "", " ", "\n\t"])


@st.composite
def cells(draw, kind: str, dims: tuple[int, ...]) -> str:
    """Draw the JSON text of a tensor."""
    if dims:
        items = [draw(cells(kind, dims[1:])) for _ in range(dims[0])]
        return "[" + (draw(BLANKS) + "," + draw(BLANKS)).join(items) + "]"
    if kind == "string":
        return draw(st.sampled_from(['""', '"a"', '"é, [b]"', '"x"', '"1"']))
    if kind == "base64":
        return draw(st.sampled_from(['{"b64":"YWI="}', '{"b64": "YQ"}']))
    if kind == "int64":
        return draw(st.integers(-(2**63), 2**63 - 1).map(str) | st.sampled_from(["0", "-1", "7"]))
    return draw(st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.sampled_from(NUMBER_TEXTS))


@st.composite
def bodies(draw, *, regular: bool) -> bytes:
    """Draw a request with several inputs; if it is not regular, something about it is unusual."""
    names = draw(st.permutations(list(INPUTS)))
    dims = {name: tuple(draw(st.lists(st.integers(1, 3), max_size=2))) for name in names}
    kinds = {**INPUTS, "image": "base64"}
    in_rows = draw(st.booleans())
    objects = []
    for _ in range(draw(st.integers(1, 4)) if in_rows else 1):
        pairs = [(name, draw(cells(kinds[name], dims[name]))) for name in names]
        if not regular and draw(st.booleans()):
            odd = st.sampled_from(ODD_TEXTS) | cells("float32", (2,))
            changed = (draw(st.sampled_from([*names, "z", "b64"])), draw(odd))
            index = draw(st.integers(0, len(pairs)))
            pairs[index : index + draw(st.integers(0, 1))] = [changed] * draw(st.integers(0, 2))
        colon, comma = (
            draw(BLANKS) + ":" + draw(BLANKS) if not regular else ":" + draw(BLANKS),
            "," + draw(BLANKS),
        )
        objects.append("{" + comma.join(f'"{name}"{colon}{value}' for name, value in pairs) + "}")
    value = "[" + ", ".join(objects) + "]" if in_rows else objects[0]
    named = ', "signature_name": "f"' if draw(st.booleans()) else ""
    return f'{{"{"instances" if in_rows else "inputs"}":{draw(BLANKS)}{value}{named}}}'.encode()


@given(body=bodies(regular=True), slice_size=st.sampled_from([1, 40, 1000]))
def test_rows_and_columns_of_several_inputs_are_read_without_objects(body, slice_size):
    with_objects, without_objects = answers_of_both_ways(body, INPUTS, slice_size)
    assert with_objects == without_objects


@given(body=bodies(regular=False), slice_size=st.sampled_from([1, 40, 1000]))
def test_unusual_rows_and_columns_decode_alike(body, slice_size):
    with_objects, without_objects = answers_of_both_ways(body, INPUTS, slice_size)
    assert with_objects == without_objects


ROWS = [
    (b'{"instances": [{"x": [1, 2], "y": 3}, {"x": [4, 5], "y": 6}]}', {"x": "float32", "y": "int64"}),
    (b'{"instances": [{"y":3,"x":[1.5,2]},{"y":6,"x":[4,5]}]}', {"x": "float32", "y": "int64"}),
    (b'{"instances": [{"i": {"b64": "YQ"}, "y": 3},{"i":{"b64":""},"y": 6}]}', {"i": "string", "y": "int8"}),
    (b'{"instances": [{"i": "a", "y": [[3]]}]}', {"i": "string", "y": "uint64"}),
    (b'{"inputs": {"i": ["a", "b, {"], "y": [[3]]}}', {"i": "string", "y": "bfloat16"}),
    (b'{"inputs": {"i": [{"b64": "YQ=="}], "y": 3}, "signature_name": "f"}', {"i": "string", "y": "int32"}),
    (b'{"signature_name": "f", "inputs": [[1, 2], [3, 4]]}', {"x": "int8"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "inputs"), ROWS, ids=lambda value: value[:50].decode() if isinstance(value, bytes) else ""
)
@pytest.mark.parametrize("slice_size", [1, 30, 2**20])
def test_these_are_read_without_objects(monkeypatch, body, inputs, slice_size):
    monkeypatch.setattr(numbers, "LARGE", 0)
    monkeypatch.setattr(numbers, "LARGE_OF_SEVERAL", 0)
    monkeypatch.setattr(flat_json, "SLICE", slice_size)
    assert numbers_of(body, lambda _: taking(**inputs)) is not None
    with_objects, without_objects = answers_of_both_ways(body, inputs, slice_size)
    assert with_objects == without_objects


RAGGED = [
    (b'{"instances": [{"x": [1, 2]}, {"x": [3, 4]}, {"x": [5]}]}',
     "Failed to process element: 2 key: x of 'instances' list"),
    (b'{"instances": [{"x": [1, "a"]}]}', "Failed to process element: 0 key: x of 'instances' list"),
    (b'{"instances": [[1, 2], [3]]}', "Failed to process element: 1 of 'instances' list"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message"), RAGGED)
def test_errors_in_large_rows_name_the_row(body, message):
    code, text = answer(large(body), taking(x="float32"))
    assert code is StatusCode.INVALID_ARGUMENT
    assert text.startswith(message)


def test_invalid_json_is_never_read_as_numbers(monkeypatch):
    """Text that has the brackets and commas of a tensor, and numbers in the wrong places."""
    monkeypatch.setattr(numbers, "LARGE", 0)
    signature = taking(x="float32")
    for text in (
        *("[1[,]2]", "[[1]2]", "[1 2]", "[1,,2]", "[[1],]", "[,1]", "[1]]", "[[1]", "[1}", "{1]", "[:1]"),
        *('[{5"x":}]', '[{"x"5:}]', '[{"x":5:}]', '[{"x":5,}]', '[{,"x":5}]', '[{"x":5}5]', '[5{"x":5}]'),
        *(
            '[{"x":"5}]',
            '[{"x":[1,2]3}]',
            '[{"x":1"x":2}]',
            '[{"x" 1}]',
            '[{"x":1}{"x":2}]',
            "[1.]",
            "[.5]",
            "[-]",
        ),
    ):
        assert numbers_of(b'{"instances": %s}' % text.encode(), lambda _: signature) is None, text


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
