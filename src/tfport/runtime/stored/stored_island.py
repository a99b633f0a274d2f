"""Plans of one island in files: written beside an island that ONNX Runtime optimized, read and run again.

The record is JSON, which is checked when it is read: a file of the cache is a file like any other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.engines.engine import Compiled, IslandHints, check_flag
from tfport.runtime.onnx.island_work import IslandWork
from tfport.runtime.stored.plan_files import ISLAND, remove
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
    results: tuple[int, ...]
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
            "places": self.results, "alone": self.alone, "flagged": self.is_flagged,
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
            "places": [*results],
            "alone": bool(alone),
            "flagged": bool(is_flagged),
            "files": dict(files),
            "work": [int() | float() | None as most, int(elements), bool(is_fixed)],
        } if version == VERSION and elements > 0:
            pass
        case _:
            return None
    answers = len(outputs) - is_flagged
    numbers_fit = len(reads) == len(inputs) and answers >= 0 and all(_is_number(p, answers) for p in results)
    if not numbers_fit or not all(_is_number(r) for r in (*reads, *files.values())):
        return None
    if not all(isinstance(name, str) for name in (*inputs, *outputs, *files)):
        return None
    work = IslandWork(math.inf if most is None else float(most), elements, is_fixed)
    return StoredIsland(
        tuple(inputs), tuple(outputs), tuple(reads), tuple(results), alone, is_flagged, work, files
    )


def _is_number(value: Any, end: float = math.inf) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < end


class StoredPlan:
    """A plan of one island that was read from files; it is called as a `Plan`."""

    is_steady = False
    """It is not known."""

    def __init__(self, island: Compiled, record: StoredIsland) -> None:
        self._island, self._reads, self._results = island, record.reads, record.results
        self._is_flagged = record.is_flagged

    def run(self, inputs: Sequence[Any], *, on_device: bool = False) -> list[Any]:
        if (scope := current_scope()) is not None:
            scope.stop.check()
        outputs = self._island([inputs[i] for i in self._reads])
        if self._is_flagged:
            check_flag(outputs[-1])
        return [outputs[i] for i in self._results]


class IslandCopy:
    """The folder that an island is written to while its plan is created; `record` is set at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record: StoredIsland | None = None
        self._island: tuple[tuple[str, ...], tuple[str, ...], IslandHints] | None = None

    @property
    def model(self) -> Path:
        return self.folder / ISLAND

    def add_island(self, inputs: Sequence[str], outputs: Sequence[str], hints: IslandHints) -> None:
        """Note how the engine calls the island that it writes."""
        self._island = tuple(inputs), tuple(outputs), hints

    def add_plan(self, reads: Sequence[int], results: Sequence[int]) -> None:
        """Note which inputs of the plan the island reads, and which of its outputs are the results."""
        if self._island is None:
            return
        inputs, outputs, hints = self._island
        files = {file.name: file.stat().st_size for file in self.folder.iterdir()}
        self.record = StoredIsland(
            inputs,
            outputs,
            tuple(reads),
            tuple(results),
            hints.alone,
            bool(hints.host_outputs),
            hints.work,
            files,
        )

    def discard(self) -> None:
        """Remove what was written."""
        remove(self.folder)
