"""A plan of one island that was read from files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.runtime.bounds.run_scope import current_scope
from tfport.runtime.engines.engine import Compiled
from tfport.runtime.engines.input_flag import check_flag
from tfport.runtime.stored.stored_island import StoredIsland


class StoredPlan:
    """It is called as a `Plan`."""

    is_steady = False
    """It is not known."""

    def __init__(self, island: Compiled, record: StoredIsland) -> None:
        self._island, self._reads, self._places = island, record.reads, record.places
        self._is_flagged = record.is_flagged

    def run(self, inputs: Sequence[Any], *, on_device: bool = False) -> list[Any]:
        if (scope := current_scope()) is not None:
            scope.stop.check()
        outputs = self._island([inputs[i] for i in self._reads])
        if self._is_flagged:
            check_flag(outputs[-1])
        return [outputs[i] for i in self._places]
