"""Types, shapes, values and attributes of HDF5 as those of NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from struct import Struct
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tfport.errors import UnreadableFile
from tfport.formats.hdf5.heaps import FractalHeap, GlobalHeaps
from tfport.formats.hdf5.objects import HeaderMessage, MessageType
from tfport.formats.hdf5.source import Cursor, Hdf5Bytes
from tfport.formats.hdf5.trees import records
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


TYPE = Struct("<BBBxI")
"""Class and version, two bytes of bits, and the size of an element."""
INTEGER, FLOAT, STRING, BITS, OPAQUE, ENUM, VARIABLE = 0, 1, 3, 4, 5, 8, 9
OTHER_CLASSES = {2: "a time", 6: "a compound type", 7: "a reference", 10: "an array type"}
FLOATS = {
    (2, 5, 10): "float16", (4, 8, 23): "float32", (8, 11, 52): "float64", (2, 8, 7): "bfloat16",
    (1, 4, 3): "float8_e4m3fn", (1, 5, 2): "float8_e5m2",
}  # fmt: skip
"""The name of a type by its size in bytes and the bits of its exponent and mantissa."""
BOOLEAN = {"FALSE": 0, "TRUE": 1}
MOST_AXES = 32
ATTRIBUTE_NAMES = 8
"""The type of a B-tree with the names of attributes."""


@dataclass(frozen=True, slots=True)
class Hdf5Type:
    """The type of the elements of a dataset or attribute."""

    size: int
    """Bytes of an element in the file."""
    dtype: np.dtype[Any] | None = None
    """As stored, with its byte order; None if NumPy has no such type."""
    is_text: bool = False
    """Whether elements are strings of variable length, stored in a heap."""
    name: str = ""
    """The type as messages call it, if `dtype` is None."""

    @property
    def label(self) -> str:
        if self.is_text:
            return "string"
        return str(self.dtype.newbyteorder("=")) if self.dtype is not None else self.name


def read_type(cursor: Cursor) -> Hdf5Type:
    """The type that a message describes."""
    first, bits, second, size = cursor.fields(TYPE)
    kind, version = first & 15, first >> 4
    order: Literal["<", ">"] = ">" if bits & 1 else "<"
    if kind in (INTEGER, BITS):
        return _integer(cursor, size, order, is_signed=bool(bits & 8) and kind == INTEGER)
    if kind == FLOAT:
        return _float(cursor, size, order)
    if kind in (STRING, OPAQUE):
        if not 0 < size < 1 << 31:
            return Hdf5Type(size, name=f"a string or opaque type of {size} bytes")
        return Hdf5Type(size, np.dtype(f"{'S' if kind == STRING else 'V'}{size}"))
    if kind == ENUM:
        return _enumeration(cursor, bits | second << 8, version)
    if kind == VARIABLE and bits & 15 == 1:
        return Hdf5Type(size, is_text=True)
    if kind == VARIABLE:
        return Hdf5Type(size, name="a list of variable length")
    return Hdf5Type(size, name=OTHER_CLASSES.get(kind, f"the unknown type {kind}"))


def _integer(cursor: Cursor, size: int, order: str, *, is_signed: bool) -> Hdf5Type:
    start, precision = cursor.uint(2), cursor.uint(2)
    if size not in (1, 2, 4, 8) or start or precision != 8 * size:
        return Hdf5Type(size, name=f"an integer of {precision} bits in {size} bytes")
    return Hdf5Type(size, np.dtype(f"{order}{'i' if is_signed else 'u'}{size}"))


def _float(cursor: Cursor, size: int, order: Literal["<", ">"]) -> Hdf5Type:
    cursor.skip(4)  # offset and precision
    _, exponent, _, mantissa = (cursor.uint(1) for _ in range(4))
    name = FLOATS.get((size, exponent, mantissa))
    if name is None:
        return Hdf5Type(size, name=f"a number with {exponent} bits of exponent and {mantissa} of mantissa")
    return Hdf5Type(size, named_dtype(name).newbyteorder(order))


def named_dtype(name: str) -> np.dtype[Any]:
    """A type of NumPy or ml_dtypes."""
    if name.startswith(("bfloat", "float8")):
        import ml_dtypes

        name = getattr(ml_dtypes, name)
    dtype: np.dtype[Any] = np.dtype(name)
    return dtype


def _enumeration(cursor: Cursor, count: int, version: int) -> Hdf5Type:
    if cursor.left and cursor.view[cursor.at] & 15 != INTEGER:
        return Hdf5Type(1, name="an enumeration that is not of integers")
    base = read_type(cursor)
    if base.size != 1 or count != len(BOOLEAN):
        return base
    names = []
    for _ in range(count):
        start = cursor.at
        names.append(cursor.text())
        cursor.pad(8 if version < 3 else 1, start)
    values = {name: cursor.uint(1) for name in names}
    return Hdf5Type(1, np.dtype(bool)) if values == BOOLEAN else base


def read_shape(cursor: Cursor) -> tuple[int, ...] | None:
    """The shape that a message describes; None for a value that is absent."""
    version, rank, _ = (cursor.uint(1) for _ in range(3))
    if version not in (1, 2) or rank > MOST_AXES:
        raise cursor.error(f"a dataspace has version {version} and {rank} axes")
    kind = cursor.uint(1)
    if version == 1:
        cursor.skip(4)
    elif kind == 2:
        return None
    return tuple(cursor.length() for _ in range(rank))


def read_values(data: Cursor, datatype: Hdf5Type, shape: tuple[int, ...], heaps: GlobalHeaps) -> NDArray[Any]:
    """The elements that follow; strings of variable length are copied, all others are not."""
    count = prod(shape)
    view = data.take(count * datatype.size)
    if datatype.is_text:
        return _texts(Cursor(data.source, view, data.start, data.what), count, heaps).reshape(shape)
    if datatype.dtype is None:
        raise UnreadableFile(
            f"{data.source.where}: {data.what}: elements of {datatype.name}, which tfport cannot read"
        )
    array: NDArray[Any] = np.frombuffer(view, datatype.dtype, count).reshape(shape)
    return array


def _texts(cursor: Cursor, count: int, heaps: GlobalHeaps) -> NDArray[Any]:
    values = np.full(count, b"", object)
    for index in range(count):
        cursor.source.step()
        size, address, number = cursor.uint(4), cursor.offset(), cursor.uint(4)
        if size and address:
            values[index] = cursor.source.copy(heaps.find(address, number)[:size])
    return values


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
