"""No engine: every node runs on its host kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tfport.errors import Error
from tfport.runtime.engines.engine import NO_HINTS, Compiled, IslandHints
from tfport.runtime.passes.pass_list import CPU_FORM
from tfport.runtime.program import OnnxNode


class NoEngine:
    """An engine that supports no node, so nothing is lowered."""

    name = "no engine"
    checks_indices = True
    on_device = False
    form = CPU_FORM
    rival = None
    threads = 1

    def takes(self, node: OnnxNode) -> bool:
        return False

    def has_kernel(self, node: OnnxNode) -> bool:
        return self.takes(node)

    def compile(
        self,
        model: bytes,
        weights: Mapping[str, Any],
        inputs: Sequence[str],
        outputs: Sequence[str],
        hints: IslandHints = NO_HINTS,
    ) -> Compiled:
        raise Error("no engine was selected, so no island can run")
