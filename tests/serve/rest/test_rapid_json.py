"""The slow parser reads what the fast ones read, and more; `tests/serve/published` has its errors."""

from __future__ import annotations

import json
import math
import random

import orjson
import pytest

from tfport.serve.rest.parse import parsed
from tfport.serve.rest.rapid_json import MOST_PARTS, is_readable, read_json
from tfport.serve.status import StatusError

SCALARS = [0, -1, 2**63, -(2**63), 2**64 - 1, 1.5, -2.5e-300, 1e300, True, False, None, "", 'é\n"\\', "𝄞"]


def made(rng: random.Random, depth: int = 0) -> object:
    if depth == 4 or rng.random() < 0.3:
        return rng.choice(SCALARS)
    inner = [made(rng, depth + 1) for _ in range(rng.randint(0, 4))]
    return inner if rng.random() < 0.5 else {f"key {i}": value for i, value in enumerate(inner)}


@pytest.mark.parametrize("seed", range(20))
def test_documents_are_read_as_by_the_fast_parser(seed):
    rng = random.Random(seed)
    for _ in range(20):
        document = made(rng)
        for text in (json.dumps(document), json.dumps(document, indent=1, ensure_ascii=False)):
            assert read_json(text.encode()) == orjson.loads(text) == document


def test_long_lists_of_numbers_and_words():
    values = [*range(1000), *[True, None] * 100, 1.5]
    assert read_json(json.dumps({"x": values}).encode()) == {"x": values}
    with pytest.raises(StatusError, match=r"Invalid value\. at offset: 6005$"):
        read_json(b"[" + b"12345," * 1000 + b" 6, x]")


def test_special_numbers():
    assert read_json(b"[Infinity, -Inf, 123456789012345678901]") == [
        math.inf,
        -math.inf,
        123456789012345678901.0,
    ]
    assert math.isnan(read_json(b"NaN"))  # type: ignore[arg-type]


def test_of_duplicate_keys_the_first_counts_but_in_lists_the_last():
    assert parsed(b'{"inputs": {"x": 1, "x": 2}, "inputs": 3}') == {"inputs": {"x": 1}}
    assert parsed(b'{"examples": [{"x": 1, "x": 2}], "examples": []}') == {"examples": [{"x": 2}]}
    same_name = b'{"instances": [{"inputs": 1}, {"inputs": 2}]}'
    assert parsed(same_name) == {"instances": [{"inputs": 1}, {"inputs": 2}]}


def test_a_body_with_too_many_parts_is_not_read_slowly():
    assert is_readable(b"[" * MOST_PARTS)
    assert not is_readable(b"[" * (MOST_PARTS + 1))
    with pytest.raises(StatusError, match=r"The document is nested too deeply\. at offset: 0$"):
        parsed(b"[" * (MOST_PARTS + 1))
