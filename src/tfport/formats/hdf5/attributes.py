"""The attributes of an HDF5 object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfport.formats.hdf5.datatypes import read_shape, read_type, read_values
from tfport.formats.hdf5.heaps import FractalHeap, GlobalHeaps
from tfport.formats.hdf5.objects import HeaderMessage, MessageType
from tfport.formats.hdf5.source import Cursor, Hdf5Bytes
from tfport.formats.hdf5.trees import records

ATTRIBUTE_NAMES = 8
"""The type of a B-tree with the names of attributes."""


def read_attributes(source: Hdf5Bytes, messages: list[HeaderMessage], heaps: GlobalHeaps) -> dict[str, Any]:
    """The attributes by name: arrays, and the elements of scalars; None for types that are not read."""
    bodies = _bodies(source, messages)
    return dict(_attribute(body, heaps) for body in bodies)


def _bodies(source: Hdf5Bytes, messages: list[HeaderMessage]) -> Iterator[Cursor]:
    for message in messages:
        if message.type == MessageType.ATTRIBUTE and not message.is_shared:
            yield message.cursor(source, "an attribute")
        elif message.type == MessageType.ATTRIBUTE_INFO:
            info = message.cursor(source, "the attributes of an object")
            flags = info.skip(1).uint(1)
            heap, tree = info.skip(2 if flags & 1 else 0).offset(), info.offset()
            if not source.is_undefined(heap) and not source.is_undefined(tree):
                objects = FractalHeap(source, heap)
                for record in records(source, tree, ATTRIBUTE_NAMES):
                    yield objects.find(record.part(objects.sizes.id, "the id of an attribute"))


def _attribute(body: Cursor, heaps: GlobalHeaps) -> tuple[str, Any]:
    body.source.step()
    version, flags = body.uint(1), body.uint(1)
    if version not in (1, 2, 3):
        raise body.error(f"an attribute has version {version}")
    sizes = [body.uint(2) for _ in range(3)]
    body.skip(1 if version == 3 else 0)
    name, datatype, space = (_part(body, size, 8 if version == 1 else 1) for size in sizes)
    text = bytes(name.view).rstrip(b"\0").decode("utf-8", "replace")
    if flags & 3:  # a type or shape that is stored somewhere else
        return text, None
    body.what = f"the attribute `{text[:100]}`"
    kind, shape = read_type(datatype), read_shape(space)
    if shape is None or (kind.dtype is None and not kind.is_text):
        return text, None
    values = read_values(body, kind, shape, heaps)
    return text, values[()] if shape == () else values


def _part(body: Cursor, size: int, multiple: int) -> Cursor:
    part = body.part(size, "an attribute")
    body.skip(min(-size % multiple, body.left))
    return part
