"""GraphDef and MetaGraph files: recognized by their fields, binary or text, and read."""

import pytest
from google.protobuf import text_format

from tfport.formats.find import find_model
from tfport.formats.graph_def.read import read_graph_def, read_meta_graph
from tfport.formats.graph_def.signature import GRAPH_DEF, META_GRAPH
from tfport.formats.proto.graph_pb2 import GraphDef
from tfport.formats.proto.saved_model_pb2 import MetaGraphDef

GRAPH = GraphDef()
GRAPH.node.add(name="x", op="Placeholder")
META = MetaGraphDef(graph_def=GRAPH)
META.meta_info_def.tensorflow_version = "2.21.0"
FILES = [  # name         content                                          format
    ("graph.pb", GRAPH.SerializeToString(), GRAPH_DEF),
    ("graph.pbtxt", text_format.MessageToString(GRAPH).encode(), GRAPH_DEF),
    ("model.ckpt.meta", META.SerializeToString(), META_GRAPH),
    ("model.meta", text_format.MessageToString(META).encode(), META_GRAPH),
]


@pytest.mark.parametrize(("name", "content", "expected"), FILES, ids=[row[0] for row in FILES])
def test_a_file_is_recognized_and_read(name, content, expected, tmp_path):
    (tmp_path / name).write_bytes(content)
    source = find_model(tmp_path / name)
    assert source.format is expected
    if expected is GRAPH_DEF:
        assert read_graph_def(source.files, source.name) == GRAPH
    else:
        assert read_meta_graph(source.files, source.name) == META


def test_a_node_without_an_op_is_not_a_graph(tmp_path):
    graph = GraphDef()
    graph.node.add(name="x")
    (tmp_path / "graph.pb").write_bytes(graph.SerializeToString())
    assert find_model(tmp_path / "graph.pb").format is not GRAPH_DEF
