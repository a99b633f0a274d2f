"""Sessions of graphs in the node notation, and the islands that their plans have."""

from __future__ import annotations

from typing import Any

from tests.recorded_models import graph

import tfport
from tfport.formats.proto.onnx_pb2 import ModelProto
from tfport.graph.build import graph_to_def
from tfport.runtime.engines.engine import IslandHints
from tfport.runtime.passes.pass_list import CPU_FORM
from tfport.runtime.plan import Plan


def session_of(text: str, **options: Any) -> tfport.Session:
    """A session of the graph in this text."""
    return tfport.Session(tfport.load(graph_to_def(graph(text)).SerializeToString()), **options)


def islands_of(text: str, fetches: list[str], feeds: list[str]) -> list[ModelProto]:
    """The ONNX models that the engine compiles for a graph."""
    session = session_of(text)
    engine = WatchedEngine(session.engine)
    Plan(session.program(fetches, feeds), engine)
    return engine.compiled


class WatchedEngine:
    """An engine that keeps the models that it compiles."""

    name = "watched"
    on_device = False
    form = CPU_FORM
    rival = None
    threads = 2

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.compiled: list[ModelProto] = []
        self.hints: list[IslandHints] = []

    def takes(self, node: Any) -> bool:
        return bool(self.engine.takes(node))

    has_kernel = takes

    def complete(self, program: Any) -> None:
        self.engine.complete(program)

    def engine_for(self, nodes: Any) -> Any:
        return self

    def compile(self, model: bytes, *borders: Any) -> Any:
        self.compiled.append(ModelProto.FromString(model))
        self.hints.append(borders[-1])
        return self.engine.compile(model, *borders)
