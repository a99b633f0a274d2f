"""Message descriptors for DecodeProto and EncodeProto, and for messages without a .proto file.

`descriptor_source` says where a model's descriptors are. `local://` means the messages linked into
TensorFlow; tfport has Example, GraphDef and the messages that they contain. `bytes://` is followed by
a FileDescriptorSet. Any other source is the name of a file of the model.

Other messages are defined by a few lines of text, each field as `name=number type`. `*` means
repeated; a type is a protobuf scalar or another message:

    TREES = messages("tfport.trees", '''
        Tree: nodes=1 *Node
        Node: leaf=1 float, split=2 Split
    ''')
    TREES["Tree"].FromString(data)
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from tfport.errors import RunFailed
from tfport.runtime.state import State

LOCAL, BYTES = "local://", b"bytes://"
_EXAMPLES = """
    Example: features=1 Features
    SequenceExample: context=1 Features, feature_lists=2 FeatureLists
    Features: feature=1 *FeatureEntry
    FeatureEntry: key=1 string, value=2 Feature
    Feature: bytes_list=1 BytesList, float_list=2 FloatList, int64_list=3 Int64List
    FeatureLists: feature_list=1 *FeatureListEntry
    FeatureListEntry: key=1 string, value=2 FeatureList
    FeatureList: feature=1 *Feature
    BytesList: value=1 *bytes
    FloatList: value=1 *float
    Int64List: value=1 *int64
"""
OUR_PACKAGE, TENSORFLOW_PACKAGE = "tfport.formats.proto", "tensorflow"


class ProtoField(NamedTuple):
    """A field of a message."""

    number: int
    type: int
    """A FieldDescriptorProto.Type."""
    repeated: bool
    packed: bool
    default: Any


def fields_of(message_type: str, names: list[str], source: Any, state: State) -> list[ProtoField]:
    """The fields of a message with these names."""
    message = message_of(message_type, source, state)
    fields = []
    for name in names:
        field = message.fields_by_name.get(name)
        if field is None:
            raise RunFailed(f"message {message_type} has no field `{name}`")
        fields.append(_field(field))
    return fields


def message_of(message_type: str, source: Any, state: State) -> Any:
    """The descriptor of a message."""
    pool = _local() if source in ("", LOCAL) else _pool(_descriptor_set(source, state))
    try:
        return pool.FindMessageTypeByName(message_type)
    except KeyError:
        raise RunFailed(f"descriptor_source does not describe message {message_type}") from None


def _descriptor_set(source: Any, state: State) -> bytes:
    data = source if isinstance(source, bytes) else source.encode()
    if data.startswith(BYTES):
        return data[len(BYTES) :]
    return bytes(state.read_file(data.decode(errors="replace")))


@functools.lru_cache(maxsize=16)
def _pool(data: bytes) -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool
    from google.protobuf.message import DecodeError

    pool = descriptor_pool.DescriptorPool()
    try:
        for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
            pool.Add(file)
    except (DecodeError, TypeError) as error:
        raise RunFailed(
            f"descriptor_source is not a valid FileDescriptorSet ({len(data)} bytes): {error}"
        ) from None
    return pool


@functools.cache
def _local() -> Any:
    """TensorFlow's own messages: those of tfport under TensorFlow's package name."""
    from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, wrappers_pb2

    from tfport.formats.proto import graph_pb2, saved_model_pb2

    pool = descriptor_pool.DescriptorPool()
    for known in (any_pb2, wrappers_pb2):
        pool.Add(descriptor_pb2.FileDescriptorProto.FromString(known.DESCRIPTOR.serialized_pb))
    pool.Add(file_descriptor(TENSORFLOW_PACKAGE, _EXAMPLES))
    for module in (graph_pb2, saved_model_pb2):
        text = module.DESCRIPTOR.serialized_pb
        file = descriptor_pb2.FileDescriptorProto.FromString(text)
        file.package = TENSORFLOW_PACKAGE
        for message in file.message_type:
            _rename(message)
        pool.Add(file)
    return pool


def _rename(message: Any) -> None:
    for field in message.field:
        if field.type_name:
            field.type_name = field.type_name.replace(f".{OUR_PACKAGE}.", f".{TENSORFLOW_PACKAGE}.")
    for nested in message.nested_type:
        _rename(nested)


def _field(field: Any) -> ProtoField:
    repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == 3
    default = None if repeated or field.type in (10, 11) else field.default_value
    packed = field.is_packed if hasattr(field, "is_packed") else field.GetOptions().packed
    return ProtoField(field.number, field.type, repeated, repeated and bool(packed), default)


# Messages defined by text

_SCALARS = [
    "double",
    "float",
    "int64",
    "uint64",
    "int32",
    "fixed64",
    "fixed32",
    "bool",
    "string",
    "group",
    "message",
    "bytes",
    "uint32",
]


@functools.cache
def messages(package: str, text: str) -> dict[str, Any]:
    """The message classes of a text, by name."""
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    pool.Add(file_descriptor(package, text))
    names = [line.partition(":")[0].strip() for line in text.splitlines() if ":" in line]
    descriptors = (pool.FindMessageTypeByName(f"{package}.{name}") for name in names)
    return dict(zip(names, map(message_factory.GetMessageClass, descriptors), strict=True))


def file_descriptor(package: str, text: str) -> Any:
    """The FileDescriptorProto of a text."""
    from google.protobuf import descriptor_pb2

    enumerated: Any = int  # the stubs expect an enumeration that does not exist at run time
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for line in text.splitlines():
        name, colon, fields = line.partition(":")
        if not colon:
            continue
        message = file.message_type.add(name=name.strip())
        for definition in fields.split(","):
            label, kind = definition.split()
            field = message.field.add(name=label.split("=")[0], number=int(label.split("=")[1]))
            field.label = enumerated(3 if kind[0] == "*" else 1)
            kind = kind.lstrip("*")
            if kind in _SCALARS:
                field.type = enumerated(_SCALARS.index(kind) + 1)
            else:
                field.type, field.type_name = enumerated(11), f".{package}.{kind}"
    return file
