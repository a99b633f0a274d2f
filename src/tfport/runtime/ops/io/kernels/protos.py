"""DecodeProtoV2 and EncodeProto: fields of protobuf messages to tensors and back."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.formats.encoding.wire import from_varint, to_varint
from tfport.runtime.lower import host
from tfport.runtime.ops.io.descriptors import ProtoField, fields_of, message_of
from tfport.runtime.ops.shared.arrays import string_array

_ALL = (1 << 64) - 1
VARINT, FIXED64, LENGTH, START, END, FIXED32 = range(6)


class ProtoType(NamedTuple):
    """The encoding of a protobuf type, and the dtypes of tensors that can represent it."""

    wire: int
    tensors: str
    read: Callable[[Any], Any] = int
    write: Callable[[Any], Any] = int
    read_packed: Callable[[Any], Any] | None = None


def _signed(bits: int) -> Callable[[int], int]:
    half, whole = 1 << (bits - 1), 1 << bits
    return lambda value: (value + half) % whole - half


def _unzigzag(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def _zigzag(bits: int) -> Callable[[int], int]:
    return lambda value: (value << 1 ^ value >> (bits - 1)) & (1 << bits) - 1


def _unpack(layout: str) -> Callable[[bytes], Any]:
    return lambda data: struct.unpack(layout, data)[0]


def _pack(layout: str, keep: int | None = None) -> Callable[[Any], bytes]:
    return lambda value: struct.pack(layout, value if keep is None else value & keep)


_U32, _U64 = 0xFFFFFFFF, _ALL
_KINDS = {  # by FieldDescriptorProto.Type
    1: ProtoType(FIXED64, "float64", _unpack("<d"), _pack("<d")),
    2: ProtoType(FIXED32, "float32 float64", _unpack("<f"), lambda v: np.float32(v).tobytes()),
    3: ProtoType(VARINT, "int64", _signed(64)),
    4: ProtoType(VARINT, "uint64"),
    5: ProtoType(VARINT, "int32 int64", _signed(32), _signed(32)),
    6: ProtoType(FIXED64, "uint64", _unpack("<Q"), _pack("<Q", _U64)),
    7: ProtoType(FIXED32, "uint32 uint64", _unpack("<I"), _pack("<I", _U32)),
    8: ProtoType(VARINT, "bool", bool),
    9: ProtoType(LENGTH, "string", bytes, bytes),
    11: ProtoType(LENGTH, "string", bytes, bytes),
    12: ProtoType(LENGTH, "string", bytes, bytes),
    13: ProtoType(VARINT, "uint32 uint64", lambda v: v & _U32, lambda v: int(v) & _U32),
    14: ProtoType(VARINT, "int32", _signed(32), _signed(32)),
    15: ProtoType(FIXED32, "int32 int64", _unpack("<i"), _pack("<I", _U32)),
    16: ProtoType(FIXED64, "int64", _unpack("<q"), _pack("<Q", _U64)),
    17: ProtoType(VARINT, "int32 int64", lambda v: _unzigzag(v & _U32), _zigzag(32)),
    18: ProtoType(VARINT, "int64", _unzigzag, _zigzag(64)),
}


def _check(fields: Sequence[ProtoField], names: Sequence[str], types: Sequence[Any]) -> list[ProtoType]:
    if len(fields) != len(types):
        raise RunFailed(f"types and fields must have the same length, found {len(types)} and {len(fields)}")
    kinds = []
    for field, name, dtype in zip(fields, names, types, strict=True):
        kind = _KINDS.get(field.type)
        if kind is None or dtype.name not in kind.tensors.split():
            raise RunFailed(f"field `{name}` cannot be a tensor of type {dtype}")
        if (field.type, dtype.name) == (5, "int64"):  # TensorFlow reads packed values as unsigned
            kind = kind._replace(read_packed=lambda value: value & _U32)
        kinds.append(kind)
    return kinds


@host("DecodeProtoV2")
def decode_proto(
    bytes, *, message_type, field_names, output_types, descriptor_source, message_format, sanitize, context
):
    if not bytes.size:
        raise RunFailed("bytes must not be empty")
    fields = fields_of(message_type, field_names, descriptor_source, context.state)
    kinds = _check(fields, field_names, output_types)
    data = bytes.reshape(-1).tolist()
    if message_format not in ("binary", "text"):
        raise RunFailed(f"message_format must be binary or text, found {message_format}")
    if sanitize or message_format == "text":
        data = _canonical(data, message_of(message_type, descriptor_source, context.state), message_format)
    numbers = {field.number: i for i, field in enumerate(fields)}
    rows = [_decode(message, numbers, fields, kinds) for message in data]
    sizes = np.array([[len(values) for values in row] for row in rows], np.int32)
    sizes = sizes.reshape(*bytes.shape, len(fields))
    return sizes, [
        _padded([row[i] for row in rows], field, dtype, bytes.shape)
        for i, (field, dtype) in enumerate(zip(fields, output_types, strict=True))
    ]


def _canonical(data: list[bytes], message: Any, message_format: str) -> list[bytes]:
    """Messages in canonical binary form: text is converted, unknown fields are discarded."""
    from google.protobuf import message_factory, text_format
    from google.protobuf.message import DecodeError

    message_class = message_factory.GetMessageClass(message)
    messages = []
    for serialized in data:
        try:
            if message_format == "binary":
                parsed = message_class.FromString(serialized)
            else:
                parsed = text_format.Parse(serialized, message_class())
        except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
            raise RunFailed(f"a message cannot be parsed: {error}") from None
        parsed.DiscardUnknownFields()
        messages.append(parsed.SerializeToString())
    return messages


def _padded(rows: list[list[Any]], field: ProtoField, dtype: Any, outer: tuple[int, ...]) -> Any:
    """A row for each message, padded to the longest."""
    width = max(1, *map(len, rows))
    default = field.default if field.default is not None else (b"" if dtype.name == "string" else 0)
    default = default.encode() if isinstance(default, str) else default
    out = np.full((len(rows), width), default, dtype.numpy)
    for i, values in enumerate(rows):
        if values:
            out[i, : len(values)] = values
    return out.reshape(*outer, width)


def _decode(
    data: bytes, numbers: dict[int, int], fields: Sequence[ProtoField], kinds: Sequence[ProtoType]
) -> list[list[Any]]:
    """The values of each field in a message."""
    by_field: list[list[Any]] = [[] for _ in fields]
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        value, at = _value(data, at, tag)
        which = numbers.get(tag >> 3)
        if which is None:
            continue
        kind, wire = kinds[which], tag & 7
        if wire == LENGTH and kind.wire != LENGTH:
            by_field[which].extend(map(kind.read_packed or kind.read, _packed(value, kind.wire)))
        elif wire == kind.wire:
            by_field[which].append(kind.read(value))
        else:
            raise RunFailed(f"field {tag >> 3} of a message must have wire type {kind.wire}, found {wire}")
    return [values if field.repeated else values[-1:] for values, field in zip(by_field, fields, strict=True)]


def _packed(data: bytes, wire: int) -> list[Any]:
    if wire != VARINT:
        width = 8 if wire == FIXED64 else 4
        if len(data) % width:
            raise RunFailed(
                f"the size of a packed list must be a multiple of {width} bytes, found {len(data)}"
            )
        return [data[i : i + width] for i in range(0, len(data), width)]
    values, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return values


def _varint(data: bytes, at: int) -> tuple[int, int]:
    try:
        return from_varint(data, at)
    except ValueError:
        raise RunFailed("a message is truncated") from None


def _value(data: bytes, at: int, tag: int) -> tuple[Any, int]:
    """The value after a tag, and its end."""
    wire = tag & 7
    if wire == VARINT:
        return _varint(data, at)
    if wire == START:
        return _group(data, at, tag)
    if wire == LENGTH:
        size, at = _varint(data, at)
    elif wire in (FIXED64, FIXED32):
        size = 8 if wire == FIXED64 else 4
    else:
        raise RunFailed(f"unsupported wire type {wire} in a message")
    if tag >> 3 == 0 or at + size > len(data):
        raise RunFailed("a message is truncated")
    return data[at : at + size], at + size


def _group(data: bytes, at: int, tag: int) -> tuple[bytes, int]:
    start, open_groups = at, [tag >> 3]
    while open_groups:
        before = at
        inner, at = _varint(data, at)
        if inner & 7 == START:
            open_groups.append(inner >> 3)
        elif inner & 7 == END:
            if open_groups.pop() != inner >> 3:
                raise RunFailed("the groups of a message must be properly nested")
        else:
            _, at = _value(data, at, inner)
    return data[start:before], at


@host("EncodeProto")
def encode_proto(sizes, values, *, field_names, message_type, descriptor_source, Tinput_types, context):
    fields = fields_of(message_type, field_names, descriptor_source, context.state)
    kinds = _check(fields, field_names, Tinput_types)
    outer = values[0].shape[:-1] if values else sizes.shape[:-1]
    if any(v.ndim < 2 or v.shape[:-1] != outer for v in values) or sizes.shape != (*outer, len(fields)):
        raise RunFailed(
            f"the shapes of sizes and values do not match: {sizes.shape} and {[v.shape for v in values]}"
        )
    flat = sizes.reshape(-1, len(fields))
    columns = [v.reshape(len(flat), v.shape[-1]) for v in values]
    for column, name, each in zip(columns, field_names, flat.T, strict=True):
        if each.size and each.max() > column.shape[1]:
            raise RunFailed(f"field `{name}` must have at least {each.max()} values, found {column.shape[1]}")
    out = [bytearray() for _ in range(len(flat))]
    for i in sorted(range(len(fields)), key=lambda i: fields[i].number):
        for row, size, message in zip(columns[i].tolist(), flat[:, i].tolist(), out, strict=True):
            if size > 0:
                message += _encode(row[:size], fields[i], kinds[i])
    return string_array([bytes(message) for message in out]).reshape(outer)


def _encode(values: list[Any], field: ProtoField, kind: ProtoType) -> bytes:
    parts = [kind.write(value) for value in values]
    if kind.wire == VARINT:
        parts = [_as_varint(part) for part in parts]
    if field.packed:
        body = b"".join(parts)
        return _as_varint(field.number << 3 | LENGTH) + _as_varint(len(body)) + body
    tag = _as_varint(field.number << 3 | kind.wire)
    if kind.wire == LENGTH:
        parts = [_as_varint(len(part)) + part for part in parts]
    return b"".join(tag + part for part in parts)


def _as_varint(value: int) -> bytes:
    return to_varint(int(value) & _ALL)
