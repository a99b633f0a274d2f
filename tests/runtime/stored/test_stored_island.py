"""The record of a stored island, and files that are none."""

import json
import math

import pytest

from tfport.runtime.onnx.island_work import IslandWork
from tfport.runtime.stored.stored_island import StoredIsland, read_record
from tfport.startup.dataclass import replace

RECORD = StoredIsland(
    ("x", "z"),
    ("y", "flag"),
    (1, 0),
    (0, 0),
    alone=True,
    is_flagged=True,
    work=IslandWork(5.0, 2, True),
    files={"island.onnx": 9},
)


@pytest.mark.parametrize("most", [5.0, math.inf])
def test_a_record_is_read_as_it_was_written(most):
    record = replace(RECORD, work=IslandWork(most, 2))
    assert read_record(record.to_json()) == record


@pytest.mark.parametrize(
    "change",
    [
        {"version": 99},
        {"inputs": ["x"]},
        {"inputs": ["x", 1]},
        {"reads": [0, -1]},
        {"reads": [0, True]},
        {"places": [1]},
        {"alone": 1},
        {"flagged": 1},
        {"outputs": [], "places": []},
        {"files": {"island.onnx": "9"}},
        {"work": [1.0, 0, True]},
        {"work": None},
    ],
    ids=str,
)
def test_a_record_that_does_not_fit_together_is_none(change):
    assert read_record(json.dumps({**json.loads(RECORD.to_json()), **change}).encode()) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"\xff", b"[" * 100_000], ids=len)
def test_other_content_is_no_record(content):
    assert read_record(content) is None
