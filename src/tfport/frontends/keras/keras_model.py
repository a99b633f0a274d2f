"""A Keras file as a model with a graph, or with the reason that there is none."""

from __future__ import annotations

from tfport.errors import CannotRun, UnreadableFile
from tfport.formats.format import ModelLocation
from tfport.formats.keras.records import KerasFile
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.frontends.keras.build import ModelBuilder
from tfport.frontends.keras.instance import KerasModel
from tfport.graph.graph import Graph
from tfport.graph.op_signature import OpTable


def keras_model(location: ModelLocation, file: KerasFile, ops: OpTable) -> KerasModel:
    """The model of a Keras file that was read from a location."""
    builder = ModelBuilder(file, ops)
    graph, meta, no_graph = builder.graph, pb.MetaGraphDef(), ""
    try:
        meta = builder.build()
    except (CannotRun, UnreadableFile) as error:
        graph, no_graph = Graph(ops), str(error)
    return KerasModel(
        location.where,
        location.format,
        location.files,
        graph,
        meta,
        written_by=file.generated_by or f"Keras {file.keras_version}".strip(),
        keras=file,
        name_orders=builder.name_orders,
        no_graph=no_graph,
        root=builder.root,
    )
