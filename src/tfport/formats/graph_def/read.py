"""Read GraphDef and MetaGraph files, binary or text."""

from __future__ import annotations

from tfport.formats.encoding.message import read_message
from tfport.formats.files import Files
from tfport.formats.proto.graph_pb2 import GraphDef
from tfport.formats.proto.saved_model_pb2 import MetaGraphDef


def read_graph_def(files: Files, name: str) -> GraphDef:
    return read_message(GraphDef, files, name)


def read_meta_graph(files: Files, name: str) -> MetaGraphDef:
    return read_message(MetaGraphDef, files, name)
