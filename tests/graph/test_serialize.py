import numpy as np
import pytest
from tests.recorded_models import graph, shared

import tfport
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.saved_model.read import SCHEMA
from tfport.graph import serialize
from tfport.graph.build import graph_to_def
from tfport.graph.dtypes import FLOAT32, DType
from tfport.graph.serialize import graph_def_bytes, meta_graph_bytes, saved_model_bytes
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor
from tfport.startup.dataclass import replace

NAMES = ["module", "nested_functions", "frozen", "ref_variables", "table_from_file"]


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_are_the_bytes_of_the_whole_message(name):
    model = shared(name)
    whole = pb.SavedModel(saved_model_schema_version=SCHEMA)
    meta = whole.meta_graphs.add()
    meta.CopyFrom(model.meta)
    meta.graph_def.CopyFrom(graph_to_def(model.graph))
    for parts, message in (
        (graph_def_bytes(model.graph, "m"), meta.graph_def),
        (meta_graph_bytes(model, "m"), meta),
        (saved_model_bytes(model, "m"), whole),
    ):
        assert b"".join(parts) == message.SerializeToString(deterministic=True)


def test_a_graph_without_nodes_is_there():
    model = shared("module")
    empty = replace(model, graph=graph(""))
    (meta,) = pb.SavedModel.FromString(b"".join(saved_model_bytes(empty, "m"))).meta_graphs
    assert meta.HasField("graph_def")


def test_a_message_larger_than_its_limit_is_refused(monkeypatch):
    model = shared("module")
    size = sum(map(len, saved_model_bytes(model, "m")))
    monkeypatch.setattr(serialize, "MOST_BYTES", size)
    assert sum(map(len, saved_model_bytes(model, "m"))) == size
    monkeypatch.setattr(serialize, "MOST_BYTES", size - 1)
    with pytest.raises(tfport.Error, match="2 GiB"):
        list(saved_model_bytes(model, "m"))


def test_constants_are_read_when_their_node_is_written():
    made, read = graph(""), []

    def load(name: str):
        read.append(name)
        return np.zeros(3, np.float32)

    for name in "abc":
        tensor = Tensor(FLOAT32, Shape((3,)), load=lambda name=name: load(name))
        made.add("Const", (), {"dtype": FLOAT32, "value": tensor}, name=name)
    parts = graph_def_bytes(made, "m")
    assert [next(parts) and read[-1] for _ in "abc"] == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "bool", "int64", "complex64"])
def test_large_constants_are_written_without_a_copy(kind):
    made, dtype = graph(""), DType.parse(kind)
    array = np.arange(serialize.LARGE).reshape(2, -1).astype(dtype.numpy)
    tensor = Tensor(dtype, Shape(array.shape), load=lambda: array)
    node = made.add("Const", (), {"dtype": dtype, "value": tensor, "_class": ["loc:@x"]}, name="large")
    made.add("Identity", [node.output(0)], {"T": dtype}, name="y")
    parts = list(graph_def_bytes(made, "m"))
    assert b"".join(parts) == graph_to_def(made).SerializeToString(deterministic=True)
    assert np.shares_memory(np.frombuffer(parts[1], np.uint8), array)
