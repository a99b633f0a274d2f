"""Predict over a real port: requests, statuses and bodies as in TensorFlow Serving."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from tests.serve.rest.server import Port, serving, with_port

INF, NAN = float("inf"), float("nan")


@dataclass(frozen=True)
class Case:
    path: str
    body: Any
    status: int
    answer: Any

    def __str__(self) -> str:
        excerpt = self.body if isinstance(self.body, bytes) else json.dumps(self.body)
        return f"{self.path} {excerpt[:60]!r}"


def half(body: Any, answer: Any, status: int = 200) -> Case:
    return Case("half:predict", body, status, answer)


def echo(dtype: str, value: Any, answer: Any = None, status: int = 200) -> Case:
    body = {"signature_name": dtype, "inputs": value}
    return Case("echo:predict", body, status, {"outputs": value if answer is None else answer})


def echo_raw(dtype: str, value: bytes, answer: Any) -> Case:
    body = b'{"signature_name": "%s", "inputs": %s}' % (dtype.encode(), value)
    return Case("echo:predict", body, 200, {"outputs": answer})


def bad(path: str, body: Any, error: str, status: int = 400) -> Case:
    return Case(path, body, status, {"error": error})


def bad_row(number: str, error: str, *, rows: Any = None, path: str = "half:predict") -> Case:
    body = {"instances": rows}
    return bad(path, body, f"Failed to process element: {number} of 'instances' list. Error: {error}")


ROW = {"a": [1, 2], "b": 3, "s": "x"}
ANSWERED = {"doubled": [2.0, 4.0], "next": 6, "text": "x", "text_bytes": {"b64": "eA=="}}

ANSWERS = [
    half({"instances": [1.0, 2.0, 5.0]}, {"predictions": [2.5, 3.0, 4.5]}),
    half({"inputs": [1.0, 2]}, {"outputs": [2.5, 3.0]}),
    half({"inputs": {"x": [1]}}, {"outputs": [2.5]}),
    half({"inputs": {"x": [1], "unknown": [2]}}, {"outputs": [2.5]}),
    half({"instances": [{"x": 1}, {"x": 2}]}, {"predictions": [2.5, 3.0]}),
    half({"signature_name": "serving_default", "instances": [0]}, {"predictions": [2.0]}),
    half({"signature_name": "", "instances": [0]}, {"predictions": [2.0]}),
    half(b'\xef\xbb\xbf {"instances": [0]} and more', {"predictions": [2.0]}),
    half({"inputs": []}, {"outputs": []}),
    half({"instances": [1e39, -1e39]}, {"predictions": [INF, -INF]}),
    half(b'{"instances": [Infinity, -Infinity, Inf, -Inf, 1]}', {"predictions": [INF, -INF, INF, -INF, 2.5]}),
    Case("half/versions/1:predict", {"instances": [1]}, 200, {"predictions": [1.5]}),
    Case("half/labels/stable:predict", {"instances": [1]}, 200, {"predictions": [1.5]}),
    Case("%68alf:predict", {"instances": [1]}, 200, {"predictions": [2.5]}),
    Case("pairs:predict", {"instances": [ROW, ROW]}, 200, {"predictions": [ANSWERED, ANSWERED]}),
    Case(
        "pairs:predict",
        {"inputs": {"a": [[1, 2]], "b": [3], "s": [{"b64": "AP8="}]}},
        200,
        {"outputs": ANSWERED | {"doubled": [[2.0, 4.0]], "next": [6], "text": ["\0\udcff"],
                                "text_bytes": [{"b64": "AP8="}]}},
    ),
    Case("pairs:predict", {"signature_name": "total", "inputs": [1, 2]}, 200,
         {"outputs": {"t": 3, "n": [2, 4]}}),
    echo("float32", 1.5),
    echo("float32", [[[0.1], [3]], [[1e-30], [16777216]]], [[[0.1], [3.0]], [[1e-30], [16777216.0]]]),
    echo("float32", [[], []]),
    echo("float64", [0.1, 1e300, 5e-324]),
    echo("float64", 2**70, 2.0**70),
    echo("float16", [0.5, 65504, 1e9], [0.5, 65504.0, INF]),
    echo("bfloat16", [1.5, -2.0]),
    echo("int8", [-128, 127]),
    echo("uint8", [0, 255]),
    echo("int16", [-32768]),
    echo("int32", [[-(2**31)], [2**31 - 1]]),
    echo("uint32", 2**32 - 1),
    echo("int64", [2**63 - 1, -(2**63), 9007199254740993]),
    echo("uint64", [2**64 - 1]),
    echo("bool", [[True, False]]),
    echo("string", [["a", ""], ["é", "\0"]]),
    echo("string", "scalar"),
    echo("string", {"b64": "aGk="}, "hi"),
    echo("string", [{"b64": "a Gk"}, "x"], ["hi", "x"]),
    echo_raw("string", b'["\xff", "NaN Inf"]', ["\udcff", "NaN Inf"]),
    echo_raw("float32", b"[NaN, 1]", [NAN, 1.0]),
]  # fmt: skip

KEYS = (
    'JSON Value: {\n    "instances": [1],\n    "inputs": [1]\n} Not formatted correctly expecting only one '
)
TYPED = "JSON Value: {} Type: {} is not of expected type: {}"
BAD = [
    bad("half:predict", b"", "JSON Parse error: The document is empty"),
    bad("half:predict", b"  ", "JSON Parse error: The document is empty. at offset: 2"),
    bad("half:predict", b"instances = [1]", "JSON Parse error: Invalid value. at offset: 0"),
    bad("half:predict", b'{"instances": [1',
        "JSON Parse error: Missing a comma or ']' after an array element. at offset: 16"),
    bad("half:predict", b'{"instances": "x', "JSON Parse error: Missing a closing quotation mark in string. "
        "at offset: 16"),
    bad("half:predict", b"[1, 2]", "JSON Value: [1, 2] Is not object"),
    bad("half:predict", b"[" * 100_000, "JSON Parse error: Invalid value. at offset: 100000"),
    bad("half:predict", b'{"inputs": %s}' % (b"9" * 5000 + b"NaN"),
        "JSON Parse error: Number too big to be stored in double. at offset: 11"),
    bad("half:predict", {}, "Missing 'inputs' or 'instances' key"),
    bad("half:predict", {"instances": [1], "inputs": [1]},
        KEYS + "of 'inputs' or 'instances' keys to exist "),
    bad("half:predict", {"instances": 1},
        "JSON Value: {\n    \"instances\": 1\n} Expecting 'instances' to be an list/array"),
    bad("half:predict", {"instances": []},
        "JSON Value: {\n    \"instances\": []\n} No values in 'instances' array"),
    bad("half:predict", {"signature_name": 100}, 'JSON Value: {\n    "signature_name": 100\n} not formatted '
        "correctly. 'signature_name' key must be a string value."),
    bad("half:predict", {"signature_name": "no", "inputs": 1},
        'Serving signature name: "no" not found in signature def'),
    bad("half:predict", {"inputs": {"z": [1]}}, "Missing named input: x in 'inputs' object."),
    bad("half:predict", {"inputs": "x"}, TYPED.format('"x"', "String", "float")),
    bad("half:predict", {"inputs": [True]}, TYPED.format("true", "True", "float")),
    bad("half:predict", {"inputs": [None]}, TYPED.format("null", "Null", "float")),
    bad("half:predict", {"inputs": [1, [2]]}, "Encountered list at unexpected level: 1 expected < 1"),
    bad("half:predict", {"inputs": [[1, 2], [3]]},
        "Encountered list at unexpected size: 1 at level: 1 expected size: 2"),
    bad("half:predict", {"inputs": [[1], 2]},
        "JSON Value: 2 found at incorrect level: 2 in the JSON DOM. Expected at level: 2"),
    bad("half:predict", {"inputs": [[], ""]},
        'JSON Value: "" found at incorrect level: 2 in the JSON DOM. Expected at level: 2'),
    bad("half:predict", {"inputs": [{"b64": "aGk="}]},
        TYPED.format('{\n    "b64": "aGk="\n}', "Object", "float")),
    bad("half:predict", b'{"inputs": %s1%s}' % (b"[" * 40, b"]" * 40),
        f"JSON Value: {'[' * 40}1{']' * 40} has more than 32 levels of lists"),
    bad_row("0", "INVALID_ARGUMENT: " + TYPED.format('"x"', "String", "float"), rows=["x", "y"]),
    bad_row("1", "INVALID_ARGUMENT: " + TYPED.format("null", "Null", "float"), rows=[1, None]),
    bad_row("1", "INVALID_ARGUMENT: Expecting tensor size: 1 but got: 2", rows=[[1], [1, 2]]),
    bad_row("1", "INVALID_ARGUMENT: Expecting shape [2] but got: [1,2]", rows=[[1, 2], [[1, 2]]]),
    bad_row("0 key: z", "INVALID_ARGUMENT: JSON object: does not have named input: z", rows=[{"z": 1}]),
    bad_row("1 key: x", "INVALID_ARGUMENT: " + TYPED.format('"q"', "String", "float"),
            rows=[{"x": 1}, {"x": "q"}]),
    bad("half:predict", {"instances": [{"x": 1}, 2]},
        "Expecting object but got list at item 1 of input list"),
    bad("half:predict", {"instances": [1, {"x": 2}]},
        "Expecting value/list but got object at item 1 of input list"),
    bad("pairs:predict", {"instances": [1]},
        "instances is a plain list, but expecting list of objects as multiple input tensors "
        "required as per tensorinfo_map"),
    bad("pairs:predict", {"inputs": [1]},
        "inputs is a plain value/list, but expecting an object as multiple input tensors "
        "required as per tensorinfo_map"),
    bad("pairs:predict", {"instances": [{"b": 3, "s": "x"}]},
        "Failed to process element: 0 of 'instances' list. "
        'JSON object: {\n    "b": 3,\n    "s": "x"\n} keys must be equal to: a,b,s'),
    bad("pairs:predict", {"signature_name": "total", "instances": [1]},
        "Tensor name: t has no shape information "),
    bad("echo:predict", {"signature_name": "int32", "inputs": [1.0]}, TYPED.format("1.0", "Number", "int32")),
    bad("echo:predict", {"signature_name": "int32", "inputs": 2**31}, TYPED.format(2**31, "Number", "int32")),
    bad("echo:predict", {"signature_name": "int8", "inputs": 128}, TYPED.format(128, "Number", "int8")),
    bad("echo:predict", {"signature_name": "uint64", "inputs": -1}, TYPED.format(-1, "Number", "uint64")),
    bad("echo:predict", {"signature_name": "int64", "inputs": [1, True]},
        TYPED.format("true", "True", "int64")),
    bad("echo:predict", {"signature_name": "bool", "inputs": 1}, TYPED.format(1, "Number", "bool")),
    bad("echo:predict", {"signature_name": "string", "inputs": [1]}, TYPED.format(1, "Number", "string")),
    bad("echo:predict", {"signature_name": "string", "inputs": [{"b64": 1}]},
        'JSON Value: {\n    "b64": 1\n} not formatted correctly for base64 data'),
    bad("echo:predict", {"signature_name": "string", "inputs": [{"b64": "!"}]}, "Unable to base64 decode"),
    bad("echo:predict", {"signature_name": "string", "inputs": ["\ud800"]},
        "JSON Parse error: The surrogate pair in string is invalid. at offset: 41"),
    bad("echo:predict", {"signature_name": "complex64", "inputs": [1]},
        "Conversion of JSON Value: 1 to type: complex64", 501),
    bad("echo:predict", {"inputs": [1]},
        'Serving signature name: "serving_default" not found in signature def'),
    bad("absent:predict", {"instances": [1]}, "Servable not found for request: Latest(absent)", 404),
    bad("half/versions/9:predict", {"inputs": 1}, "Servable not found for request: Specific(half, 9)", 404),
    bad("half/labels/new:predict", {"inputs": 1}, "Unrecognized servable version label: new"),
]  # fmt: skip


def test_answers_and_errors_are_those_of_tensorflow_serving():
    async def check(port: Port) -> None:
        wrong = []
        for case in [*ANSWERS, *BAD]:
            data = case.body if isinstance(case.body, bytes) else json.dumps(case.body).encode()
            async with port.client.post(f"/v1/models/{case.path}", data=data) as response:
                answer = json.loads((await response.read()).decode("utf-8", "surrogateescape"))
            if (response.status, text_of(answer)) != (case.status, text_of(case.answer)):
                wrong.append((str(case), response.status, answer, case.answer))
            assert response.headers["Content-Type"] == "application/json"
        assert not wrong, wrong[0]

    with_port(check)


def text_of(value: Any) -> str:
    """Parse JSON such that 2 and 2.0 differ, and NaN equals NaN."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"instances": [1, 2]}', '{\n    "predictions": [2.5, 3.0\n    ]\n}'),
        (b'{"inputs": [1, NaN]}', '{\n    "outputs": [2.5, NaN]\n}'),
        (b'{"inputs": 1, "instances": 1}', None),
    ],
)
def test_the_text_of_an_answer(body, text):
    async def check(port: Port) -> None:
        async with port.client.post("/v1/models/half:predict", data=body) as response:
            actual = await response.text()
        assert (
            actual == text
            if text
            else actual.startswith('{\n    "error": "JSON Value: {\\n    \\"inputs\\": 1')
        )

    with_port(check)


def test_requests_of_many_clients_do_not_mix():
    async def run() -> None:
        async with serving() as port:
            answers = await asyncio.gather(
                *(port.ask("POST", "/v1/models/half:predict", {"instances": [n]}) for n in range(200))
            )
        assert answers == [(200, {"predictions": [n / 2 + 2]}) for n in range(200)]

    asyncio.run(run())
