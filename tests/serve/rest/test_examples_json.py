"""Classify and regress over a real port."""

from tests.serve.rest.server import Port, with_port

from tfport.formats.proto import serving_pb2 as pb
from tfport.serve.rest.examples_json import decode_examples

CASES = [  # verb, body, status, answer
    ("regress", {"examples": [{"x": 80.0}, {"x": [1.5]}]}, 200, {"results": [80.0, 1.5]}),
    ("regress", {"examples": [{}, {"x": 0.1}]}, 200, {"results": [7.0, 0.1]}),
    ("regress", {"examples": [{}, {"x": 1.5}], "context": {"x": 3.5}}, 200, {"results": [3.5, 1.5]}),
    (
        "classify",
        {"signature_name": "scores", "examples": [{"x": 20.0}, {"x": 0.1}]},
        200,
        {"results": [[["", 20.0]], [["", 0.1]]]},
    ),
    (
        "classify",
        {"signature_name": "classes", "examples": [{"x": 2.5}]},
        200,
        {"results": [[["2.500000", 2.5]]]},
    ),
    (
        "regress",
        {},
        400,
        "JSON Value: {} When method is classify, key 'examples' is expected and was not found",
    ),
    (
        "classify",
        {"examples": 1},
        400,
        "JSON Value: {\n    \"examples\": 1\n} Expecting 'examples' value to be an list/array",
    ),
    (
        "classify",
        {"examples": []},
        400,
        "JSON Value: {\n    \"examples\": []\n} 'examples' value is an empty array",
    ),
    ("regress", {"examples": [1]}, 400, "Example must be JSON object but got JSON Number"),
    ("regress", {"context": [], "examples": [{}]}, 400, "Example must be JSON object but got JSON Array"),
    (
        "regress",
        {"examples": [{"x": [1, 2.5]}]},
        400,
        "Unexpected element type in feature: x expecting type: int64",
    ),
    (
        "regress",
        {"examples": [{"x": ["a", True]}]},
        400,
        "Unexpected element type in feature: x expecting type: bytes",
    ),
    (
        "regress",
        {"examples": [{"x": None}]},
        400,
        "Feature: x has element with unexpected JSON type: Null",
    ),
    (
        "regress",
        {"examples": [{"x": [[1]]}]},
        400,
        "Feature: x has element with unexpected JSON type: Array",
    ),
    (
        "regress",
        {"examples": [{"x": {"b": 1}}]},
        400,
        "Feature: x has element with unexpected JSON type: Object",
    ),
    (
        "regress",
        {"examples": [{"x": 2**63}]},
        400,
        "Feature: x has uint64_t element. Only int64_t is supported.",
    ),
    ("regress", {"examples": [{"x": {"b64": "!"}}]}, 400, "Unable to base64 decode"),
    ("regress", {"signature_name": 1, "examples": [{}]}, 400, None),
    ("regress", {"signature_name": "no", "examples": [{}]}, 400, "No signature was found with the name: no"),
]


def test_examples_are_classified_and_regressed():
    async def check(port: Port) -> None:
        for verb, body, status, answer in CASES:
            expected = {"error": answer} if isinstance(answer, str) else answer
            actual = await port.ask("POST", f"/v1/models/examples:{verb}", body)
            assert actual == (status, expected) or (answer is None and actual[0] == status), body

    with_port(check)


def test_features_take_the_kind_of_their_values():
    body = b'{"examples": [{"f": [1.5, NaN, 1e40], "i": [1, true], "b": ["a", {"b64": "/w=="}], "e": []}]}'
    (written,) = decode_examples(body).examples.tolist()
    feature = pb.Example.FromString(written).features.feature
    assert [str(value) for value in feature["f"].float_list.value] == ["1.5", "nan", "inf"]
    assert list(feature["i"].int64_list.value) == [1, 1]
    assert list(feature["b"].bytes_list.value) == [b"a", b"\xff"]
    assert "e" in feature
    assert feature["e"].WhichOneof("kind") is None
