"""The first error of a long list: the same as without skipping blocks, after visiting few elements."""

import numpy as np
import orjson
import pytest
from tests.serve.batching.batched_models import session_of

from tfport.serve.rest import json_errors
from tfport.serve.rest.decode import decode
from tfport.serve.status import StatusError

MODEL = "x = Placeholder() {dtype=float32, shape=(?, ?)}\ny = Neg(x) {T=float32}"
SIGNATURE = session_of(MODEL, {"x": "x:0"}, {"y": "y:0"}).model.signatures["serving_default"]
ROWS = 5000
GOOD = [1.0, 2, 3]


def message_of(body):
    with pytest.raises(StatusError) as caught:
        decode(orjson.dumps(body), lambda name: SIGNATURE)
    return caught.value.message


def with_wrong(rows, at, wrong):
    return [*rows[:at], wrong, *rows[at + 1 :]]


WRONG = [[1.0], [1.0, 2, "3"], [1.0, 2, True], [1.0, 2, None], [[1.0, 2, 3]], [], "a", {"y": [1.0]}, 7.0]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
@pytest.mark.parametrize("at", [0, 1, 1024, 3000, ROWS - 1])
@pytest.mark.parametrize("layout", ["rows", "objects", "columns"])
def test_the_error_is_the_first_of_all(monkeypatch, layout, at, wrong):
    if layout == "objects":
        body = {"instances": with_wrong([{"x": GOOD}] * ROWS, at, {"x": wrong} if at % 2 else wrong)}
    else:
        body = {"inputs" if layout == "columns" else "instances": with_wrong([GOOD] * ROWS, at, wrong)}
    message = message_of(body)
    monkeypatch.setattr(json_errors, "BLOCK", 10**9)
    assert message == message_of(body)


@pytest.mark.parametrize("layout", ["rows", "objects", "columns", "one row"])
def test_only_one_block_is_visited(monkeypatch, layout):
    elements = []
    visited = json_errors._element
    monkeypatch.setattr(json_errors, "_element", lambda *a: (elements.append(a), visited(*a)))
    body = {
        "rows": {"instances": [*[GOOD] * ROWS, ["x"] * 3]},
        "objects": {"instances": [*[{"x": GOOD}] * ROWS, {"x": ["x"] * 3}]},
        "columns": {"inputs": [*[GOOD] * ROWS, ["x"] * 3]},
        "one row": {"instances": [[*np.ones(3 * ROWS).tolist(), "x"]]},
    }[layout]
    assert 'JSON Value: "x" Type: String is not of expected type: float' in message_of(body)
    assert 0 < len(elements) <= 3 * (json_errors.BLOCK + 1)
