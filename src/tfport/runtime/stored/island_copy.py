"""A copy of an island that is written while its plan is made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tfport.runtime.engines.engine import IslandHints
from tfport.runtime.stored.plan_files import ISLAND, remove
from tfport.runtime.stored.stored_island import StoredIsland


class IslandCopy:
    """The folder that the island of a plan is written to; `record` is there when all of it is."""

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

    def add_plan(self, reads: Sequence[int], places: Sequence[int]) -> None:
        """Note which inputs of the plan the island reads, and which of its outputs are the results."""
        if self._island is None:
            return
        inputs, outputs, hints = self._island
        files = {file.name: file.stat().st_size for file in self.folder.iterdir()}
        self.record = StoredIsland(
            inputs,
            outputs,
            tuple(reads),
            tuple(places),
            hints.alone,
            bool(hints.host_outputs),
            hints.work,
            files,
        )

    def discard(self) -> None:
        """Remove what was written."""
        remove(self.folder)
