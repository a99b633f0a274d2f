"""Take the large contents of tensors out of a `PredictRequest`, without copying them.

    message, places = without_contents(data)
    memoryview(data)[places["image"]]

Protobuf copies a content when it parses a message, and again for each reader. So the bytes of a message are
walked here as far as its contents, and protobuf parses the rest. Whatever is unusual, such as an input that
comes twice, is None: the message is then sent as it is, and the server says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf.message import DecodeError

from tfport.formats.proto import serving_wire_pb2 as wire

LARGE = 1 << 14
"""Bytes from which the content of a tensor goes into a block."""
MORE, BITS = 0x80, 7
LONGEST_SIZE = 5
"""Bytes of a size, at most."""
VARINT, EIGHT_BYTES, SIZED, FOUR_BYTES = 0, 1, 2, 5
"""How the value of a field is written, the lowest three bits of its tag."""
INPUT, NAME, TENSOR, CONTENT = (number << 3 | SIZED for number in (2, 1, 2, 4))
"""Tags: of `inputs` in a request, of `key` and `value` in an input, of `tensor_content` in a tensor."""


class _Field(NamedTuple):
    """A field in a message: where it starts, where its value does, and where it ends."""

    tag: int
    start: int
    value: int
    end: int


def without_contents(data: bytes) -> tuple[wire.PredictRequestWire, dict[str, slice]] | None:
    """Return the message without its large contents, and where these are, by the name of the input."""
    view, rest = memoryview(data), bytearray()
    places: dict[str, slice] = {}
    tensors: dict[str, bytes] = {}
    try:
        for field in _fields(view, 0, len(data)):
            large = _content_of(view, field) if field.tag == INPUT and _is_large(field) else None
            if large is None:
                rest += view[field.start : field.end]
                continue
            name, tensor, content = large
            if name in places:
                return None
            tensors[name] = data[tensor.value : content.start] + data[content.end : tensor.end]
            places[name] = slice(content.value, content.end)
        message = wire.PredictRequestWire.FromString(bytes(rest))
        if places.keys() & message.inputs.keys():
            return None
        for name, light in tensors.items():
            message.inputs[name].MergeFromString(light)
    except (DecodeError, IndexError, ValueError):
        return None
    return message, places


def _content_of(view: memoryview, entry: _Field) -> tuple[str, _Field, _Field] | None:
    """The name of an input, its tensor and the content of that; None if that is not large."""
    parts = list(_fields(view, entry.value, entry.end))
    if sorted(part.tag for part in parts) != [NAME, TENSOR]:
        raise ValueError("not one name and one tensor")
    name, tensor = sorted(parts)
    contents = [field for field in _fields(view, tensor.value, tensor.end) if field.tag == CONTENT]
    if len(contents) > 1:
        raise ValueError("several contents")
    if not contents or not _is_large(contents[0]):
        return None
    return str(view[name.value : name.end], "utf-8"), tensor, contents[0]


def _fields(view: memoryview, at: int, end: int) -> Iterator[_Field]:
    """The fields of a message; only those with small numbers, as others are unusual beside contents."""
    while at < end:
        start, tag = at, view[at]
        kind = tag & 0b111
        if tag & MORE:
            raise ValueError("a large number of a field")
        if kind == SIZED:
            size, value = _size(view, at + 1)
            at = value + size
        elif kind == VARINT:
            value = at = at + 1
            while view[at] & MORE:
                at += 1
            at += 1
        elif kind in (FOUR_BYTES, EIGHT_BYTES):
            value = at + 1
            at = value + (4 if kind == FOUR_BYTES else 8)
        else:
            raise ValueError("an obsolete kind of field")
        if at > end:
            raise ValueError("a field that is cut off")
        yield _Field(tag, start, value, at)


def _size(view: memoryview, at: int) -> tuple[int, int]:
    """A size, and where it ends."""
    size = 0
    for place in range(LONGEST_SIZE):
        size |= (view[at + place] & ~MORE) << BITS * place
        if not view[at + place] & MORE:
            return size, at + place + 1
    raise ValueError("a size that is too large")


def _is_large(field: _Field) -> bool:
    return field.end - field.value >= LARGE
