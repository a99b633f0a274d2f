"""What is written beside an island that ONNX Runtime optimized: all that a plan of this island needs.

It is JSON, which is checked when it is read: a file of the cache is a file like any other.
"""

from __future__ import annotations

import json
import math
from typing import Any

from tfport.runtime.onnx.island_work import IslandWork
from tfport.startup.dataclass import dataclass

VERSION = 2


@dataclass(frozen=True, slots=True)
class StoredIsland:
    """A plan of one island: how it is called, and what an engine is told about it."""

    inputs: tuple[str, ...]
    """The names of the inputs of the ONNX model."""
    outputs: tuple[str, ...]
    reads: tuple[int, ...]
    """Which input of the plan each of its inputs is."""
    places: tuple[int, ...]
    """Which of its outputs each result of the plan is."""
    alone: bool
    is_flagged: bool
    """Whether its last output is a flag."""
    work: IslandWork
    files: dict[str, int]
    """The sizes of the files of the ONNX model."""

    def to_json(self) -> bytes:
        work = self.work
        return json.dumps({
            "version": VERSION, "inputs": self.inputs, "outputs": self.outputs, "reads": self.reads,
            "places": self.places, "alone": self.alone, "flagged": self.is_flagged,
            "files": self.files,
            "work": [None if math.isinf(work.most) else work.most, work.elements, work.is_fixed],
        }).encode()  # fmt: skip


def read_record(content: bytes) -> StoredIsland | None:
    """The record in a file; None if the file has none, or one of another version."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return None
    match document:
        case {
            "version": int(version),
            "inputs": [*inputs],
            "outputs": [*outputs],
            "reads": [*reads],
            "places": [*places],
            "alone": bool(alone),
            "flagged": bool(is_flagged),
            "files": dict(files),
            "work": [int() | float() | None as most, int(elements), bool(is_fixed)],
        } if version == VERSION and elements > 0:
            pass
        case _:
            return None
    answers = len(outputs) - is_flagged
    numbers_fit = len(reads) == len(inputs) and answers >= 0 and all(_is_number(p, answers) for p in places)
    if not numbers_fit or not all(_is_number(r) for r in (*reads, *files.values())):
        return None
    if not all(isinstance(name, str) for name in (*inputs, *outputs, *files)):
        return None
    work = IslandWork(math.inf if most is None else float(most), elements, is_fixed)
    return StoredIsland(
        tuple(inputs), tuple(outputs), tuple(reads), tuple(places), alone, is_flagged, work, files
    )


def _is_number(value: Any, end: float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < end
