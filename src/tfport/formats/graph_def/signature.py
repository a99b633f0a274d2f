"""How GraphDef and MetaGraph files are recognized: by the structure of their first fields.

Protobuf messages have no magic number. A GraphDef begins with a node that has a name and an op,
a MetaGraph holds a GraphDef or a block of information, and no other message has these fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tfport.formats.encoding.wire import LENGTH, VARINT, Bytes, Layout, MessageStructure, structure_of
from tfport.formats.format import ModelFormat, Sample, with_suffix

GRAPH_DEF_FIELDS: Layout = {1: LENGTH, 2: LENGTH, 3: VARINT, 4: LENGTH, 5: LENGTH}
META_GRAPH_FIELDS: Layout = dict.fromkeys(range(1, 8), LENGTH)
NEWEST_FIELD = 15
"""Fields that later releases add may have numbers up to this."""
GRAPH_DEF_NAMES = (b"node", b"library", b"versions", b"version")
META_GRAPH_NAMES = (
    b"meta_info_def", b"graph_def", b"saver_def", b"collection_def", b"signature_def", b"asset_file_def",
    b"object_graph_def",
)  # fmt: skip
"""Names of the fields in text format."""
OP_NAME = re.compile(rb"[ -~]+")


def matches_message(sample: Sample, text_fields: tuple[bytes, ...], test: Callable[[Sample], bool]) -> bool:
    """Whether a file is a message of TensorFlow, in text or binary form; an error if it was cut short."""
    if sample.encoding == "text":
        return sample.text_field in text_fields
    numbers = [f.number for f in sample.message.fields]
    if not numbers or max(numbers) > NEWEST_FIELD:
        return False
    if (sample.is_damaged and not sample.has_content()) or not test(sample):
        return False
    sample.check_complete()
    return True


def is_graph_def(sample: Sample) -> bool:
    return sample.message.fits(GRAPH_DEF_FIELDS) and has_graph(sample.message.parts())


def is_meta_graph(sample: Sample) -> bool:
    message = sample.message
    first = [f.number for f in message.fields if f.number <= 3]
    is_unique = len(set(first)) == len(first)
    return is_unique and message.fits(META_GRAPH_FIELDS) and has_meta_graph(message.parts())


def has_graph(parts: dict[int, memoryview]) -> bool:
    """Whether the first node has a name and an op or, without nodes, the versions are numbers."""
    if 1 in parts:
        return is_node(parts[1])
    if 2 in parts:  # a library; all fields of a function are messages
        function = structure_of(parts[2]).parts().get(1, memoryview(b""))
        return not is_node(function) and all(f.wire == LENGTH for f in structure_of(function).fields)
    return 3 in parts or (4 in parts and all(f.wire == VARINT for f in structure_of(parts[4]).fields))


def is_node(data: Bytes) -> bool:
    structure = structure_of(data)
    strings = MessageStructure(data, [f for f in structure.fields if f.wire == LENGTH]).parts()
    return 1 in strings and 2 in strings and OP_NAME.fullmatch(strings[2]) is not None


def has_meta_graph(parts: dict[int, memoryview]) -> bool:
    """Whether there is a graph with nodes, or an information block such as only a MetaGraph has."""
    if 2 in parts:
        graph = structure_of(parts[2]).parts()
        return not graph or has_graph(graph)
    info = parts.get(1, memoryview(b""))
    if is_node(info):
        return False
    fields = structure_of(info).fields
    return 1 in parts and all(f.wire == (VARINT if f.number == 7 else LENGTH) for f in fields)


GRAPH_DEF = ModelFormat(
    "GraphDef",
    lambda sample: matches_message(sample, GRAPH_DEF_NAMES, is_graph_def),
    key="graph_def",
    bytes_name="graph.pb",
    folder_rank=8,
    candidates=lambda names: [with_suffix(names, ".pb"), with_suffix(names, ".pbtxt")],
    accepts=("graph_def", "meta_graph", "saved_model"),
)
META_GRAPH = ModelFormat(
    "MetaGraph",
    lambda sample: matches_message(sample, META_GRAPH_NAMES, is_meta_graph),
    key="meta_graph",
    bytes_name="model.meta",
    folder_rank=6,
    candidates=lambda names: [with_suffix(names, ".meta")],
    accepts=("meta_graph",),
)
