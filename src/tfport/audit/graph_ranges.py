"""Which ranges of a large file are the graph: everything but the numbers of its weights.

`touch_graph` asks for those ranges, and whoever has the bytes fetches them. Of a protobuf message the large
contents of tensors are left out, of an HDF5 file the datasets, of a `.keras` file those inside it. Any other
file is read whole.
"""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress
from typing import Protocol, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from tfport.errors import Error
from tfport.formats.archive.zip import BROKEN, ViewFile
from tfport.formats.hdf5.file import SIGNATURE, Hdf5Group, open_hdf5
from tfport.formats.keras.signature import LARGEST_TAIL, ZIP
from tfport.formats.proto.graph_pb2 import GraphDef
from tfport.formats.proto.saved_model_pb2 import MetaGraphDef, SavedModel

LARGE = 1 << 16
"""The contents of a tensor that are left out have at least so many bytes."""
MOST_MEMBER = 64 << 20
"""Larger members of a `.keras` file are weights."""
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
LONGEST_HEAD = 20
MESSAGES: dict[str, type[Message]] = {"saved_model.pb": SavedModel, ".meta": MetaGraphDef, ".pb": GraphDef}
TENSOR_CONTENT = "tensor_content"


class Bytes(Protocol):
    """Bytes that are fetched when they are asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice) -> memoryview: ...


def touch_graph(data: Bytes, name: str) -> None:
    """Ask for all bytes of a file that are not weights."""
    head = bytes(data[:8])
    if head == SIGNATURE:
        with suppress(Error):  # the reader meets it again
            _touch_group(open_hdf5(cast(memoryview, data), name))
    elif head[:4] == ZIP:
        _touch_archive(data, name)
    elif message := next((kind for end, kind in MESSAGES.items() if name.endswith(end)), None):
        _touch_message(data, 0, len(data), cast(Descriptor, message.DESCRIPTOR))
    else:
        _ = data[: len(data)]


def _touch_group(group: Hdf5Group) -> None:
    _ = group.attributes
    for link in group.links.values():
        if link.address is not None:
            member = group.open(link)
            if isinstance(member, Hdf5Group):
                _touch_group(member)


def _touch_archive(data: Bytes, name: str) -> None:
    _ = data[-LARGEST_TAIL:]
    try:
        members = zipfile.ZipFile(io.BufferedReader(ViewFile(cast(memoryview, data)))).infolist()
    except (*BROKEN, OSError):
        return
    for member in members:
        start = member.header_offset
        head = bytes(data[start : start + 30])
        start += 30 + int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        if member.compress_type == zipfile.ZIP_STORED and member.filename.endswith(".h5"):
            with suppress(Error):
                _touch_group(open_hdf5(cast(memoryview, _Part(data, start, member.file_size)), name))
        elif member.compress_size <= MOST_MEMBER:
            _ = data[start : start + member.compress_size]


class _Part:
    """Bytes inside others."""

    def __init__(self, data: Bytes, start: int, size: int) -> None:
        self.data, self.start, self.size = data, start, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, part: slice) -> memoryview:
        start, stop, _ = part.indices(self.size)
        return self.data[self.start + start : self.start + stop]


def _touch_message(data: Bytes, at: int, end: int, kind: Descriptor) -> None:
    """Ask for the fields of a message; large ones that are messages are entered."""
    while at < end:
        head = bytes(data[at : min(at + LONGEST_HEAD, end)])
        tag, used = _varint(head, 0)
        wire = tag & 7
        if wire == LENGTH:
            size, used = _varint(head, used)
            start, stop = at + used, min(at + used + size, end)
            field = kind.fields_by_number.get(tag >> 3)
            if size < LARGE or field is None:
                _ = data[start:stop]
            elif field.type == FieldDescriptor.TYPE_MESSAGE:
                _touch_message(data, start, stop, cast(Descriptor, field.message_type))
            elif field.name != TENSOR_CONTENT:
                _ = data[start:stop]
            at = stop
        elif wire in (VARINT, FIXED64, FIXED32):
            at += _varint(head, used)[1] if wire == VARINT else used + (8 if wire == FIXED64 else 4)
        else:  # damaged: the reader says where
            _ = data[at:end]
            return


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where it ends."""
    value = shift = 0
    while at < len(data):
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            break
    return value, at
