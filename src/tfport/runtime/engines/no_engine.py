"""No engine: every node runs on its host kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfport.errors import Error
from tfport.runtime.engines.engine import Compiled
from tfport.runtime.onnx.island_work import UNKNOWN_WORK, IslandWork
from tfport.runtime.onnx.least_size import ANY
from tfport.runtime.program import OnnxNode


class NoEngine:
    """An engine that supports no node, so nothing is lowered."""

    name = "no engine"
    checks_indices = True

    def takes(self, node: OnnxNode) -> bool:
        return False

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, Any],
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        least_size: int = ANY,
        alone: bool = True,
        work: IslandWork = UNKNOWN_WORK,
    ) -> Compiled:
        raise Error("no engine was selected, so no island can run")
