"""What one file is, from its bytes: a kind of TensorFlow model, or something else.

`identify(data, where)` looks at the head, the tail and the tags of the first
fields, so that it costs the same for every size. Names are not asked, except
where bytes say nothing. Which file of a folder is the model: `recognise`.
"""

from __future__ import annotations

import re
from enum import Enum

from tfport.errors import UnreadableFile
from tfport.formats import foreign
from tfport.formats.encoding.message import is_text
from tfport.formats.encoding.wire import LENGTH, VARINT, Bytes, Field, content, read_varint, walk
from tfport.formats.foreign import Foreign

HEAD = 4096
FIRST_FIELDS = 64
MOST_JSON = 64 * 2**20
TABLE_FOOTER = 48
TABLE_MAGIC = bytes.fromhex("57fb808b247547db")
"""The last bytes of a checkpoint's index, and of a V1 checkpoint."""


class Kind(Enum):
    """The kinds of model that tfport reads."""

    SAVED_MODEL = "SavedModel"
    GRAPH_DEF = "GraphDef"
    META_GRAPH = "MetaGraph"
    CHECKPOINT = "checkpoint"
    TFJS = "TensorFlow.js graph model"


# field number → wire type, of the messages that a file can be
SHAPES = {
    Kind.SAVED_MODEL: {1: VARINT, 2: LENGTH},
    Kind.META_GRAPH: dict.fromkeys(range(1, 8), LENGTH),
    Kind.GRAPH_DEF: {1: LENGTH, 2: LENGTH, 3: VARINT, 4: LENGTH, 5: LENGTH},
}
ONNX_SHAPE = {1: VARINT, 5: VARINT, **dict.fromkeys((2, 3, 4, 6, 7, 8, 14, 20, 25), LENGTH)}
NEWEST = 15
"""Fields that later releases may add have numbers up to this."""

TEXT_FIELDS: dict[bytes, Kind | Foreign] = {
    **dict.fromkeys((b"saved_model_schema_version", b"meta_graphs"), Kind.SAVED_MODEL),
    **dict.fromkeys((b"node", b"library", b"versions", b"version"), Kind.GRAPH_DEF),
    **dict.fromkeys(
        (b"meta_info_def", b"graph_def", b"saver_def", b"collection_def", b"signature_def", b"asset_file_def",
         b"object_graph_def"), Kind.META_GRAPH),
    **dict.fromkeys((b"model_checkpoint_path", b"all_model_checkpoint_paths"), foreign.STATE),
}  # fmt: skip
FIRST_FIELD = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*\n)*(\w+)\s*[:{<]")
OP_NAME = re.compile(rb"[ -~]+")
JSON_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*[{\[]\s*["{}\[\]]')
GRAPH_JSON = re.compile(rb'"(?:modelTopology|model_topology)"\s*:\s*\{\s*"(?:node|library|versions)"')
FORMAT_JSON = re.compile(rb'"format"\s*:\s*"(graph-model|layers-model)"')
TOPOLOGY_JSON = re.compile(rb'"(?:modelTopology|model_topology)"\s*:\s*\{')


def identify(data: Bytes, where: str) -> Kind | Foreign:
    """What these bytes are; an error if they are a model that was cut short."""
    head = bytes(data[:HEAD])
    if data[-8:] == TABLE_MAGIC and len(data) >= TABLE_FOOTER:
        return Kind.CHECKPOINT
    if found := foreign.by_magic(head) or record(head):
        return found
    if JSON_START.match(head):
        return identify_json(data)
    if is_text(data):
        return identify_text(head)
    return identify_message(data, where) or (foreign.UNKNOWN if not printable(head) else foreign.TEXT)


def record(head: bytes) -> Foreign | None:
    """A TFRecord: a length, its checksum, then the first record."""
    if len(head) < 16:
        return None
    from tfport.formats.encoding.crc32c import checksum, masked

    if int.from_bytes(head[8:12], "little") != masked(checksum(head[:8])):
        return None
    return foreign.EVENTS if b"brain.Event:" in head[12:64] else foreign.TFRECORD


def identify_json(data: Bytes) -> Kind | Foreign:
    text = memoryview(data)[:MOST_JSON]
    named = FORMAT_JSON.search(text)
    if named and named[1] == b"layers-model":
        return foreign.LAYERS_MODEL
    if GRAPH_JSON.search(text) or (named and TOPOLOGY_JSON.search(text)):
        return Kind.TFJS
    if TOPOLOGY_JSON.search(text):
        return foreign.LAYERS_MODEL
    head = bytes(data[:HEAD])
    if re.search(rb'"(weights|paths)"\s*:', head) and head.lstrip()[:1] == b"[":
        return foreign.MANIFEST
    return foreign.KERAS_JSON if re.search(rb'"class_name"\s*:', head) else foreign.JSON


def identify_text(head: bytes) -> Kind | Foreign:
    first = FIRST_FIELD.match(head)
    name = first[1] if first else b""
    return TEXT_FIELDS.get(name) or foreign.TEXT_FIELDS.get(name) or foreign.TEXT


def printable(head: bytes) -> bool:
    return all(byte >= 32 or byte in b"\t\n\r\f" for byte in head)


def identify_message(data: Bytes, where: str) -> Kind | Foreign | None:
    """Which message these bytes are, if any; an error if it is one that was cut short."""
    steps = walk(data, FIRST_FIELDS)
    fault, fields = steps.fault, steps.fields
    if fault and fault.cut:
        fields = [*fields, *cut_field(data, fault.at)]
    found = onnx(fields) or keras_metadata(data, fields) or model_kind(data, fields) or other_message(fields)
    if fault is None:
        return found
    if not isinstance(found, Kind) or all(f.wire != LENGTH for f in fields):
        return found if found in (foreign.ONNX, foreign.CORE_ML) else None
    if fault.cut:
        raise UnreadableFile(
            f"{where}, byte {fault.at}: the file {fault.why}; the download or copy was cut short"
        )
    return found  # which the parser will refuse, and say where


def cut_field(data: Bytes, at: int) -> list[Field]:
    """The field at `at` as far as the data goes."""
    tag, start = read_varint(data, at)
    if tag is None or tag & 7 != LENGTH:
        return []
    _, start = read_varint(data, start)
    return [Field(tag >> 3, LENGTH, start, len(data) - start)]


def fits(fields: list[Field], shape: dict[int, int]) -> bool:
    return all(shape.get(f.number, f.wire if f.number > max(shape) else None) == f.wire for f in fields)


def model_kind(data: Bytes, fields: list[Field]) -> Kind | None:
    """The kind whose shape these fields have, and whose first part looks like one."""
    if not fields or max(f.number for f in fields) > NEWEST:
        return None
    parts = {f.number: content(data, f) for f in reversed(fields)}
    if fits(fields, SHAPES[Kind.SAVED_MODEL]) and is_saved_model(parts):
        return Kind.SAVED_MODEL
    if fits(fields, SHAPES[Kind.GRAPH_DEF]) and is_graph(parts):
        return Kind.GRAPH_DEF
    single = len({f.number for f in fields if f.number <= 3}) == sum(f.number <= 3 for f in fields)
    if single and fits(fields, SHAPES[Kind.META_GRAPH]) and is_meta_graph(parts):
        return Kind.META_GRAPH
    return None


def is_saved_model(parts: dict[int, memoryview]) -> bool:
    """Whether there is a schema version, which TensorFlow always writes, or else a MetaGraph with a graph."""
    if 2 not in parts:
        return 1 in parts
    inner = fields_of(parts[2])
    meta = parts_of(parts[2])
    return fits(inner, SHAPES[Kind.META_GRAPH]) and (1 in parts or (2 in meta and is_meta_graph(meta)))


def is_graph(parts: dict[int, memoryview]) -> bool:
    """Whether the first node has a name and an op, or, with no nodes, the versions are numbers."""
    if 1 in parts:
        return is_node(parts[1])
    if 2 in parts:  # a library of functions, each with a signature that has a name
        function = parts_of(parts[2])
        signature = fields_of(function.get(1, b""))
        return not is_node(function.get(1, b"")) and all(f.wire == LENGTH for f in signature)
    return 3 in parts or (4 in parts and all(f.wire == VARINT for f in fields_of(parts[4])))


def is_node(data: Bytes) -> bool:
    parts = {f.number: content(data, f) for f in reversed(fields_of(data)) if f.wire == LENGTH}
    return 1 in parts and 2 in parts and OP_NAME.fullmatch(parts[2]) is not None


def is_meta_graph(parts: dict[int, memoryview]) -> bool:
    """Whether there is a graph with nodes, or an information block such as only a MetaGraph has."""
    if 2 in parts:
        graph = parts_of(parts[2])
        return not graph or is_graph(graph)
    if is_node(parts.get(1, b"")):
        return False
    return 1 in parts and all(f.wire == (VARINT if f.number == 7 else LENGTH) for f in fields_of(parts[1]))


def fields_of(data: Bytes) -> list[Field]:
    """The first fields of a part, with the one that the end of the data cuts."""
    steps = walk(data, 8)
    cut = cut_field(data, steps.fault.at) if steps.fault and steps.fault.cut else []
    return [*steps.fields, *cut]


def parts_of(data: Bytes) -> dict[int, memoryview]:
    """The first of each field of a part, by number."""
    return {f.number: content(data, f) for f in reversed(fields_of(data))}


def onnx(fields: list[Field]) -> Foreign | None:
    numbers = {f.number for f in fields}
    return foreign.ONNX if 7 in numbers and 1 in numbers and fits(fields, ONNX_SHAPE) else None


def keras_metadata(data: Bytes, fields: list[Field]) -> Foreign | None:
    """A list of objects whose fourth field is the name of their class in Keras."""
    if {f.number for f in fields} != {1}:
        return None
    kind = parts_of(content(data, fields[0])).get(4, b"")
    return foreign.KERAS_METADATA if bytes(kind[:9]) == b"_tf_keras" else None


def other_message(fields: list[Field]) -> Foreign | None:
    """Messages of TensorFlow and others that are no models."""
    wires = {f.number: f.wire for f in fields}
    if wires.get(1) == VARINT and max(wires) >= 200:
        return foreign.CORE_ML
    if wires.get(1) == LENGTH and max(wires) == 100:
        return foreign.CAFFE
    if wires.get(1) == wires.get(2) == wires.get(3) == VARINT:
        return foreign.FINGERPRINT
    return foreign.MESSAGE if fields and max(wires) < 1000 else None
