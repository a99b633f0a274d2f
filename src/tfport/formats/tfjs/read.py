"""Read a TensorFlow.js graph model: a GraphDef with its constants in files beside it.

`read_tfjs(files, "model.json")` reads the JSON that converters write since 1.0;
`read_tfjs(files, "tensorflowjs_model.pb")` the GraphDef and the manifest that older ones
wrote. The values of Const nodes are not in the graph. They are in `weights`, by node
name, and read on request.
"""

from __future__ import annotations

import base64
import binascii
import functools
import posixpath
from collections.abc import Mapping
from enum import Enum
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tfport.errors import NotAModel, UnreadableFile
from tfport.formats.encoding.json_text import parse_json
from tfport.formats.files import Files
from tfport.formats.graph_def.read import read_graph_def
from tfport.formats.proto import graph_pb2 as pb
from tfport.formats.proto.saved_model_pb2 import SignatureDef
from tfport.formats.tfjs.signature import OLD_GRAPH, OLD_MANIFEST
from tfport.formats.tfjs.weights import TfjsWeights
from tfport.startup.dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class TfjsModel:
    """The contents of a model.json, or of the two files that converters before 1.0 wrote."""

    graph: pb.GraphDef
    weights: TfjsWeights
    """The constants of both graphs and their functions, by node name."""
    signature: SignatureDef | None = None
    initializer: pb.GraphDef | None = None
    """A graph that runs once to initialize tables; only some models have it."""
    initializer_signature: SignatureDef | None = None
    captured: Mapping[str, str] = field(default_factory=dict)
    """Inputs of the signature that callers do not pass, and the initializer outputs used for them."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    format: str = ""
    generated_by: str = ""
    converted_by: str = ""


def read_tfjs(files: Files, name: str) -> TfjsModel:
    """The graph model that a JSON file, or the graph of an old pair of files, describes."""
    label = files.label(name)
    beside = files.under(posixpath.dirname(name))
    if posixpath.basename(name) == OLD_GRAPH:
        return TfjsModel(read_graph_def(files, name), old_weights(beside, label))
    data = parse_json(files.map(name), label, dict)
    try:
        return model_from(data, beside, label)
    except RecursionError:
        raise UnreadableFile(f"{label}: the objects are nested too deeply") from None


def old_weights(beside: Files, graph: str) -> TfjsWeights:
    """The weights of an old pair of files, which has the manifest in a file of its own."""
    label = beside.label(OLD_MANIFEST)
    if not beside.has(OLD_MANIFEST):
        raise UnreadableFile(f"{label}: missing; it lists the weights of {graph}")
    return TfjsWeights(parse_json(beside.map(OLD_MANIFEST), label, list), beside, label)


def model_from(data: dict[str, Any], beside: Files, label: str) -> TfjsModel:
    topology = either(data, "modelTopology", "model_topology")
    if not isinstance(topology, dict) or not isinstance(topology.get("node"), list):
        raise NotAModel(f"{label}: expected a graph of nodes in `modelTopology`, found none")
    metadata = data.get("userDefinedMetadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    # converters up to 2.x store the signature there
    signature = data.get("signature") or metadata.get("signature")
    starts = either(data, "initializerSignature", "initializer_signature")
    return TfjsModel(
        graph=graph_from(topology, f"{label}: modelTopology"),
        weights=TfjsWeights(either(data, "weightsManifest", "weights_manifest"), beside, label),
        signature=signature_from(signature, f"{label}: signature"),
        initializer=initializer_from(either(data, "modelInitializer", "model_initializer"), label),
        initializer_signature=signature_from(starts, f"{label}: initializerSignature"),
        captured=captured(signature, starts),
        metadata=metadata,
        **{ours: text(data.get(theirs)) for ours, theirs in STRINGS.items()},
    )


STRINGS = {"format": "format", "generated_by": "generatedBy", "converted_by": "convertedBy"}


def either(data: dict[str, Any], camel: str, snake: str) -> Any:
    return data.get(camel, data.get(snake))


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def graph_from(topology: object, where: str) -> pb.GraphDef:
    graph = pb.GraphDef()
    fill(graph, topology, where)
    return graph


def initializer_from(topology: object, label: str) -> pb.GraphDef | None:
    """The initializer graph; converters write an empty object if there is none."""
    has_nodes = isinstance(topology, dict) and topology.get("node")
    return graph_from(topology, f"{label}: modelInitializer") if has_nodes else None


def signature_from(data: object, where: str) -> SignatureDef | None:
    if not data:
        return None
    signature = SignatureDef()
    fill(signature, data, where)
    return signature


def captured(signature: object, starts: object) -> dict[str, str]:
    """Match inputs and initializer outputs by their resource number."""
    created = {number: name for name, number in resources(starts, "outputs")}
    return {name: created[number] for name, number in resources(signature, "inputs") if number in created}


def resources(signature: object, side: str) -> list[tuple[str, int]]:
    infos = signature.get(side) if isinstance(signature, dict) else None
    if not isinstance(infos, dict):
        return []
    numbers = [(name, info.get("resourceId")) for name, info in infos.items() if isinstance(info, dict)]
    return [(name, number) for name, number in numbers if isinstance(number, int)]


# Parse protobuf messages from JSON, in all variants that TensorFlow.js converters wrote.
#
# Names are in camelCase or snake_case; bytes are base64 or lists of numbers; enums are
# names or numbers; 64-bit integers are strings, numbers or pairs. Unknown fields are
# ignored, as in every protobuf parser.

REAL = (FieldDescriptor.CPPTYPE_FLOAT, FieldDescriptor.CPPTYPE_DOUBLE)
BUFFER = "data"  # Node.js writes bytes as {"type": "Buffer", "data": […]}
MOST_SHOWN = 40
MOST_REMEMBERED = 256
"""The longest values, as text, of which equal ones are expected."""


def fill(message: Message, data: object, where: str) -> None:
    """Set the fields of `message` from the JSON object `data`."""
    _Filler().fill(message, data, where)


class Holds(Enum):
    """What a field has."""

    VALUE = "one value"
    MESSAGE = "one message"
    LIST = "several of either"
    MAP = "several of either, by key"


@functools.lru_cache(1024)
def field_of(kind: Any, key: str) -> tuple[Any, Holds]:
    """The field of a class of messages with a name in JSON, or None, and what it has."""
    descriptor = kind.DESCRIPTOR
    field = descriptor.fields_by_camelcase_name.get(key) or descriptor.fields_by_name.get(key)
    if field is None:
        return None, Holds.VALUE
    is_message = field.message_type is not None
    if is_message and field.message_type.GetOptions().map_entry:
        return field, Holds.MAP
    if hasattr(getattr(kind(), field.name), "extend"):
        return field, Holds.LIST
    return field, Holds.MESSAGE if is_message else Holds.VALUE


class _Filler:
    """Sets the fields of messages; equal values of maps, such as attributes of nodes, are parsed once."""

    def __init__(self) -> None:
        self._parsed: dict[tuple[type[Message], str], Message] = {}

    def fill(self, message: Message, data: object, where: str) -> None:
        if not isinstance(data, dict):
            raise bad(where, "an object", data)
        kind: Any = type(message)
        for key, value in data.items():
            field, holds = field_of(kind, key)
            if field is not None and value is not None:
                try:
                    self._set_field(message, field, holds, value, f"{where}.{key}")
                except (ValueError, TypeError, OverflowError):  # out of range, or not UTF-8
                    raise bad(f"{where}.{key}", f"a {kind_name(field)}", value) from None

    def _set_field(self, message: Message, field: Any, holds: Holds, value: object, where: str) -> None:
        if holds is Holds.VALUE:
            setattr(message, field.name, scalar(field, value, where))
            return
        current: Any = getattr(message, field.name)
        if holds is Holds.MAP:
            self._fill_map(current, field, value, where)
        elif holds is Holds.LIST:
            if not isinstance(value, list):
                raise bad(where, "a list", value)
            for index, item in enumerate(value):
                self._add_item(current, field, item, f"{where}[{index}]")
        else:
            current.SetInParent()  # {"list": {}} is an empty list, not a missing one
            self.fill(current, value, where)

    def _add_item(self, current: Any, field: Any, item: object, where: str) -> None:
        if field.message_type is not None:
            self.fill(current.add(), item, where)
        else:
            current.append(scalar(field, item, where))

    def _fill_map(self, current: Any, field: Any, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise bad(where, "an object", value)
        key_field, value_field = entry_of(field)
        for key, item in value.items():
            at = scalar(key_field, key, where)
            if value_field.message_type is not None:
                self._fill_value(current[at], item, f"{where}.{key}")
            else:
                current[at] = scalar(value_field, item, f"{where}.{key}")

    def _fill_value(self, message: Message, data: object, where: str) -> None:
        written = repr(data)
        if len(written) > MOST_REMEMBERED:
            self.fill(message, data, where)
            return
        parsed = self._parsed.get((type(message), written))
        if parsed is None:
            self.fill(message, data, where)
            self._parsed[type(message), written] = message
        else:
            message.CopyFrom(parsed)


@functools.lru_cache(1024)
def entry_of(field: Any) -> tuple[Any, Any]:
    """The fields of the keys and the values of a map."""
    fields = field.message_type.fields_by_name
    return fields["key"], fields["value"]


def scalar(field: Any, value: object, where: str) -> object:
    """A JSON value as the type of the field."""
    if field.type == FieldDescriptor.TYPE_BYTES:
        return to_bytes(value, where)
    if field.enum_type is not None:
        return to_enum(field.enum_type.values_by_name, value, where)
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING and isinstance(value, str):
        return value
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL and isinstance(value, bool | int):
        return bool(value)
    if field.cpp_type in REAL and isinstance(value, int | float | str):
        return float(value)
    if field.cpp_type not in (FieldDescriptor.CPPTYPE_STRING, FieldDescriptor.CPPTYPE_BOOL, *REAL):
        return to_int(value, where)
    raise bad(where, f"a {kind_name(field)}", value)


def to_bytes(value: object, where: str) -> bytes:
    if isinstance(value, dict):
        value = value.get(BUFFER)
    if isinstance(value, list) and all(isinstance(byte, int) for byte in value):
        return bytes(value)
    if not isinstance(value, str):
        raise bad(where, "bytes", value)
    try:
        plain = value.replace("-", "+").replace("_", "/").rstrip("=")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise bad(where, "base64", value) from None


def to_enum(values: Any, value: object, where: str) -> int:
    if isinstance(value, str) and value in values:
        return int(values[value].number)
    if isinstance(value, int) or (isinstance(value, str) and value.isdigit()):
        return int(value)
    raise bad(where, "the name or number of a type", value)


def to_int(value: object, where: str) -> int:
    if isinstance(value, dict) and {"low", "high"} <= value.keys():  # as long.js represents 64 bits
        return (to_int(value["high"], where) << 32) | (to_int(value["low"], where) & 0xFFFFFFFF)
    if isinstance(value, int | str) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    raise bad(where, "an integer", value)


def kind_name(field: Any) -> str:
    names = {FieldDescriptor.CPPTYPE_STRING: "string", FieldDescriptor.CPPTYPE_BOOL: "boolean"}
    return names.get(field.cpp_type, "number")


def bad(where: str, expected: str, value: object) -> UnreadableFile:
    shown = repr(value)[: MOST_SHOWN * 2]
    shown = shown if len(shown) <= MOST_SHOWN else shown[:MOST_SHOWN] + "…"
    return UnreadableFile(f"{where}: expected {expected}, found {shown}")
