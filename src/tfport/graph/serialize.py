"""The bytes of a model's GraphDef, MetaGraphDef or SavedModel, one node at a time.

A message with all nodes would have a second copy of the constants, and its encoder a third and a fourth one.
Large constants are not copied at all: what the encoder would write around their elements is written here.
Each node is encoded twice, as the length of a message stands before it.
"""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import EncodeError, Message

from tfport.errors import Error
from tfport.formats.encoding.tensor import raw_elements, type_name
from tfport.formats.encoding.wire import to_varint
from tfport.formats.proto import saved_model_pb2 as pb
from tfport.formats.proto.graph_pb2 import GraphDef, NodeDef, TensorProto
from tfport.formats.saved_model.read import SCHEMA
from tfport.graph.build import write_node, write_rest
from tfport.graph.dtypes import STRING
from tfport.graph.graph import Graph, Node
from tfport.graph.model import Model
from tfport.graph.shapes import Shape
from tfport.graph.tensors import Tensor

MOST_BYTES = (1 << 31) - 1
"""The limit of a protobuf message."""
LARGE = 1 << 16
"""A constant of this many bytes is not copied."""
ARRAY = "value"
"""The attribute of a Const with its array."""
META_GRAPH, GRAPH = b"\x12", b"\x12"
"""The tags of fields with a length: of a MetaGraphDef in a SavedModel, of a GraphDef in a MetaGraphDef."""
NODE, ATTR, KEY, VALUE, TENSOR, CONTENT = b"\x0a", b"\x2a", b"\x0a", b"\x12", b"\x42", b"\x22"
"""The same in a GraphDef, a NodeDef, an entry of its attributes (twice), an AttrValue and a TensorProto."""
Bytes = bytes | memoryview


def graph_def_bytes(graph: Graph, where: object) -> Iterator[Bytes]:
    """A program as a GraphDef; the parts follow each other."""
    _check_size(_size(graph, where), where)
    yield from _graph_parts(graph, where)


def meta_graph_bytes(model: Model, where: object) -> Iterator[Bytes]:
    """A model as a MetaGraphDef."""
    size = _size(model.graph, where)
    before, after = _around_graph(model, size, where)
    _check_size(len(before) + size + len(after), where)
    yield before
    yield from _graph_parts(model.graph, where)
    yield after


def saved_model_bytes(model: Model, where: object) -> Iterator[Bytes]:
    """A model as a SavedModel with one MetaGraph."""
    size = _size(model.graph, where)
    before, after = _around_graph(model, size, where)
    schema = pb.SavedModel(saved_model_schema_version=SCHEMA).SerializeToString()
    length = len(before) + size + len(after)
    start = schema + META_GRAPH + to_varint(length)
    _check_size(len(start) + length, where)
    yield start
    yield before
    yield from _graph_parts(model.graph, where)
    yield after


def _around_graph(model: Model, size: int, where: object) -> tuple[bytes, bytes]:
    """What is before and after the fields of the GraphDef in a MetaGraphDef."""
    first, last = pb.MetaGraphDef(), pb.MetaGraphDef()
    last.CopyFrom(model.meta)
    last.ClearField("graph_def")
    if last.HasField("meta_info_def"):  # the only field with a smaller number
        first.meta_info_def.CopyFrom(last.meta_info_def)
        last.ClearField("meta_info_def")
    return _serialized(first, where) + GRAPH + to_varint(size), _serialized(last, where)


def _size(graph: Graph, where: object) -> int:
    return sum(map(len, _graph_parts(graph, where)))


def _graph_parts(graph: Graph, where: object) -> Iterator[Bytes]:
    """The fields of a GraphDef."""
    for node in graph:
        if _is_large_constant(node):
            yield from _constant_parts(node, where)
        else:
            record = GraphDef()
            write_node(node, record.node.add())
            yield _serialized(record, where)
    record = GraphDef()
    write_rest(graph, record)
    yield _serialized(record, where)


def _is_large_constant(node: Node) -> bool:
    """Whether a node is a Const with a large array that is not in a message yet."""
    value = node.attrs.get(ARRAY) if node.op == "Const" and not node.attrs_are_as_read else None
    if not isinstance(value, Tensor) or not value.is_array or value.dtype == STRING:
        return False
    return (value.shape.size or 0) * value.dtype.numpy.itemsize >= LARGE


def _constant_parts(node: Node, where: object) -> Iterator[Bytes]:
    """A Const with its array as the last of its attributes."""
    record, tensor = NodeDef(), node.attrs[ARRAY]
    assert isinstance(tensor, Tensor)
    write_node(node, record, without=ARRAY)
    array = tensor.numpy()
    raw = raw_elements(array, tensor.dtype.number)
    described = TensorProto(dtype=type_name(tensor.dtype.number), tensor_shape=Shape(array.shape).to_proto())
    prefix = _serialized(described, where) + CONTENT + to_varint(len(raw))
    prefix = _field(KEY, ARRAY.encode()) + _field(VALUE, _field(TENSOR, prefix, raw), raw)
    yield _field(NODE, _serialized(record, where) + _field(ATTR, prefix, raw), raw)
    yield raw


def _field(tag: bytes, content: bytes, more: Bytes = b"") -> bytes:
    """A field with a length, without the part of its content that is written separately."""
    return tag + to_varint(len(content) + len(more)) + content


def _serialized(message: Message, where: object) -> bytes:
    try:
        return message.SerializeToString(deterministic=True)
    except (EncodeError, ValueError):  # the parser would not read it either
        raise _unreadable(where) from None


def _check_size(size: int, where: object) -> None:
    if size > MOST_BYTES:
        raise _unreadable(where)


def _unreadable(where: object) -> Error:
    return Error(f"{where}: nested too deeply, or larger than the 2 GiB of a message")
