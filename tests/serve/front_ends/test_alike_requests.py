"""Requests of one form are read without parsing them again, and no other request is taken for one of them."""

import asyncio

import numpy as np
import pytest
from tests.serve.front_ends.test_request_groups import request_of

from tfport.formats.proto import serving_pb2
from tfport.serve.front_ends import alike_requests
from tfport.serve.front_ends.alike_requests import LARGE, MAX_FORMS, AlikeRequests
from tfport.serve.grpc.service import Caller

COLUMNS = LARGE // 4
NOBODY = Caller({}, "")


def two_inputs(large, small, name="m"):
    request = serving_pb2.PredictRequest.FromString(request_of(name, large))
    tensor = request.inputs["s"]
    tensor.dtype = 1
    for size in small.shape:
        tensor.tensor_shape.dim.add(size=size)
    tensor.tensor_content = small.tobytes()
    return request.SerializeToString(deterministic=True)


def read_all(messages, headers=None):
    """Read messages with one reader; `None` or kind, rows and contents of each."""

    async def read():
        requests = AlikeRequests()
        found = [requests.read(data, Caller(headers or {}, "")) for data in messages]
        return [r and (r.kind, r.rows, {n: bytes(c) for n, c in r.contents.items()}) for r in found]

    return asyncio.run(read())


@pytest.fixture
def parsed(monkeypatch):
    """The messages that were parsed."""
    seen, real = [], alike_requests.without_contents
    monkeypatch.setattr(alike_requests, "without_contents", lambda data: seen.append(data) or real(data))
    return seen


def arrays(count, rows=1):
    rng = np.random.default_rng(0)
    return [rng.random((rows, COLUMNS), np.float32) for _ in range(count)]


def test_only_the_first_of_a_form_is_parsed(parsed):
    sent = arrays(5, rows=2)
    answers = read_all([request_of("m", array) for array in sent])
    assert len(parsed) == 1
    assert len({kind for kind, _, _ in answers}) == 1
    assert [contents for _, _, contents in answers] == [{"x": array.tobytes()} for array in sent]
    assert {rows for _, rows, _ in answers} == {2}


def test_what_differs_elsewhere_is_another_request(parsed):
    (array,) = arrays(1)
    wide = array.reshape(2, -1)
    messages = [request_of("a", array), request_of("b", array), request_of("a", wide), request_of("a", array)]
    alone = [read_all([message])[0] for message in messages]
    parsed.clear()
    assert read_all(messages) == alone
    assert len(parsed) == len(messages)
    assert alone[2][1] == 2


def test_small_contents_are_part_of_the_form(parsed):
    large = arrays(3)
    small = [np.full((1, 2), i, np.float32) for i in (0, 0, 1)]
    messages = [two_inputs(*both) for both in zip(large, small, strict=True)]
    answers = read_all(messages)
    assert [contents["s"] for _, _, contents in answers] == [array.tobytes() for array in small]
    assert [contents["x"] for _, _, contents in answers] == [array.tobytes() for array in large]
    assert len({kind for kind, _, _ in answers}) == 1
    assert len(parsed) == 2


def test_every_byte_besides_the_contents_is_compared():
    (array,) = arrays(1)
    data = two_inputs(array, np.ones((1, 2), np.float32))
    at = data.index(array.tobytes())
    for place in [*range(at), *range(at + array.nbytes, len(data))]:
        other = bytearray(data)
        other[place] ^= 1
        assert read_all([data, bytes(other)])[1] == read_all([bytes(other)])[0], place


def test_the_number_of_forms_is_limited():
    async def read():
        requests = AlikeRequests()
        for columns in range(COLUMNS, COLUMNS + MAX_FORMS + 10):
            requests.read(request_of("m", np.zeros((1, columns), np.float32)), NOBODY)
        return len(requests._forms)

    assert asyncio.run(read()) <= MAX_FORMS


def test_a_form_with_many_small_contents_is_not_kept(parsed):
    (array,) = arrays(1)
    request = serving_pb2.PredictRequest.FromString(request_of("m", array))
    for number in range(2):
        request.inputs[f"s{number}"].CopyFrom(request.inputs["x"])
        request.inputs[f"s{number}"].tensor_shape.dim[1].size = COLUMNS - 1
        request.inputs[f"s{number}"].tensor_content = array.tobytes()[:-4]
    data = request.SerializeToString()
    first, second = read_all([data, data])
    assert first == second
    assert len(parsed) == 2


@pytest.mark.parametrize(
    ("data", "headers"),
    [
        (b"short", {}),
        (b"\xff" * LARGE, {}),
        (request_of("m", np.zeros((0, 3), np.float32)), {}),
        (request_of("m", np.zeros(COLUMNS, np.float32))[:-8] + bytes(4), {}),
        (request_of("m", np.zeros((1, COLUMNS), np.float32)), {"traceparent": "00-1"}),
    ],
    ids=["short", "no message", "no rows", "wrong size", "traced"],
)
def test_what_cannot_be_part_of_a_group(data, headers):
    assert read_all([data], headers) == [None]
