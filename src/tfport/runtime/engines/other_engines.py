"""The engines that race against ONNX Runtime: which nodes each may compute, and how it is made."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable

from tfport.runtime.engines.engine import Engine
from tfport.runtime.engines.litert.litert_nodes import LiteRtNodes
from tfport.runtime.engines.openvino_nodes import may_run_elsewhere
from tfport.runtime.passes.pass_list import NodeForms
from tfport.runtime.program import OnnxNode
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class OtherEngine:
    """An engine for shares of islands, with ordinary inputs of known sizes."""

    package: str
    """The module that must be installed."""
    nodes: Callable[[], Callable[[OnnxNode], bool]]
    """Says, for the nodes of one island in their order, which the engine may compute."""
    forms: NodeForms
    made: Callable[[int], Engine]
    """The engine for a number of threads."""

    @property
    def is_installed(self) -> bool:
        return importlib.util.find_spec(self.package) is not None


@functools.cache
def _litert(threads: int) -> Engine:
    from tfport.runtime.engines.litert.litert import LiteRt

    return LiteRt(threads)


@functools.cache
def _openvino(threads: int) -> Engine:
    from tfport.runtime.engines.openvino import OpenVino

    return OpenVino(threads, only_fixed=True)


OTHERS = {
    "openvino": OtherEngine("openvino", lambda: may_run_elsewhere, NodeForms.OPENVINO, _openvino),
    "litert": OtherEngine("ai_edge_litert", LiteRtNodes, NodeForms.PLAIN, _litert),
}
"""By the name that a choice has, in the order in which they race: the last one is most often the fastest, and
the winner is compiled again unless it was the last."""
