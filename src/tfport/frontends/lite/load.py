"""Load a TensorFlow Lite file as a `Model`.

A file with operators that tfport does not build is loaded all the same: it can be inspected and checked,
and `model.no_graph` says why it does not run.
"""

from __future__ import annotations

from collections.abc import Callable

from tfport.errors import CannotRun
from tfport.formats.format import ModelLocation
from tfport.formats.lite.read import read_lite
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.frontends.lite.build import FileBuilder
from tfport.frontends.lite.definitions import LiteOpTable
from tfport.graph.graph import Graph
from tfport.graph.model import Model
from tfport.graph.op_signature import OpDefs
from tfport.startup.garbage import gc_paused


@gc_paused()
def load_lite(location: ModelLocation, definitions: OpDefs) -> Model:
    """Load the file at a location."""
    file = read_lite(location.files, location.name)
    builder = FileBuilder(file, LiteOpTable(definitions))
    graph, meta, no_graph = builder.graph, pb.MetaGraphDef(), ""
    try:
        meta = builder.build()
    except CannotRun as error:
        graph, no_graph = Graph(builder.graph.ops), str(error)
    return Model(
        location.where,
        location.format,
        location.files,
        graph,
        meta,
        written_by=file.description,
        lite=file,
        unchanged_file=_unchanged(location, graph),
        name_orders=builder.name_orders,
        no_graph=no_graph,
    )


def _unchanged(location: ModelLocation, built: Graph) -> Callable[[Graph], memoryview | None]:
    before = _state(built)

    def content(graph: Graph) -> memoryview | None:
        is_same = graph is built and _state(graph) == before
        return location.files.map(location.name) if is_same else None

    return content


def _state(graph: Graph) -> list[tuple[object, ...]]:
    """All that a caller can change in a graph."""
    return [
        (node, node.op, tuple(node.inputs), tuple(node.controls), dict(node.attrs))
        for part in (graph, *graph.library.functions.values())
        for node in (*part, *part.ends)
    ]
