"""No engine: every node runs on its host kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfport.errors import Error
from tfport.runtime.engines.engine import NO_HINTS, Compiled, Engine, IslandHints
from tfport.runtime.passes.pass_list import CPU_FORM
from tfport.runtime.program import OnnxNode


class NoEngine(Engine):
    """An engine that supports no node, so nothing is lowered."""

    name = "no engine"
    checks_indices = True
    form = CPU_FORM
    threads = 1

    def takes(self, node: OnnxNode) -> bool:
        return False

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, Any],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> Compiled:
        raise Error("no engine was selected, so no island can run")
