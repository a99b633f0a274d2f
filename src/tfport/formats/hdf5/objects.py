"""Objects of an HDF5 file: the messages in the header of a group or dataset."""

from __future__ import annotations

from enum import IntEnum
from struct import Struct

from tfport.formats.hdf5.source import Cursor, Hdf5Bytes
from tfport.startup.dataclass import dataclass

MESSAGE, SHORT_MESSAGE = Struct("<HHB3x"), Struct("<BHB")
"""Type, size and flags of a message, in old and new headers."""
SHARED = 2
"""The bit of a message that is stored somewhere else."""
MOST_MESSAGES = 100_000


class MessageType(IntEnum):
    """The messages that are read; all others are skipped."""

    DATASPACE = 0x01
    LINK_INFO = 0x02
    DATATYPE = 0x03
    FILL_VALUE = 0x05
    LINK = 0x06
    EXTERNAL_FILES = 0x07
    LAYOUT = 0x08
    FILTERS = 0x0B
    ATTRIBUTE = 0x0C
    CONTINUATION = 0x10
    SYMBOL_TABLE = 0x11
    ATTRIBUTE_INFO = 0x15


@dataclass(frozen=True, slots=True)
class HeaderMessage:
    """A message of an object header."""

    type: int
    flags: int
    view: memoryview
    at: int

    @property
    def is_shared(self) -> bool:
        return bool(self.flags & SHARED)

    def cursor(self, source: Hdf5Bytes, what: str) -> Cursor:
        return Cursor(source, self.view, self.at, what)


def read_messages(source: Hdf5Bytes, address: int) -> list[HeaderMessage]:
    """The messages of the object at an address."""
    if bytes(source.rest(address, 4, "an object header").view) == b"OHDR":
        return _version_2(source, address)
    return _version_1(source, address)


def _version_1(source: Hdf5Bytes, address: int) -> list[HeaderMessage]:
    cursor = source.cursor(address, 16, "an object header")
    if (version := cursor.uint(1)) != 1:
        raise cursor.error(f"expected an object header, found version {version}")
    total = cursor.skip(1).uint(2)
    size = cursor.skip(4).uint(4)
    blocks = [(address + 16, size)]
    messages: list[HeaderMessage] = []
    for start, length in blocks:  # grows during the loop
        block = source.cursor(start, length, "an object header")
        while block.left >= 8 and len(messages) < total:
            kind, size, flags = block.fields(MESSAGE)
            body = block.part(size, "a message of an object header")
            messages.append(HeaderMessage(kind, flags, body.view, body.start))
            if kind == MessageType.CONTINUATION:
                _add_block(blocks, body)
    return messages


def _version_2(source: Hdf5Bytes, address: int) -> list[HeaderMessage]:
    cursor = source.rest(address, 64, "an object header").expect(b"OHDR")
    if (version := cursor.uint(1)) != 2:
        raise cursor.error(f"expected version 2 of an object header, found {version}")
    flags = cursor.uint(1)
    cursor.skip(16 if flags & 0x20 else 0).skip(4 if flags & 0x10 else 0)
    size = cursor.uint(1 << (flags & 3))
    blocks = [(address + cursor.at, size)]
    order = 2 if flags & 4 else 0
    messages: list[HeaderMessage] = []
    for number, (start, length) in enumerate(blocks):  # grows during the loop
        block = source.cursor(start, length, "an object header")
        if number:
            block.expect(b"OCHK")
        checksum = 4 if number else 0  # the first size is that of the messages alone
        while block.left - checksum >= 4 + order:
            kind, size, bits = block.fields(SHORT_MESSAGE)
            body = block.skip(order).part(size, "a message of an object header")
            messages.append(HeaderMessage(kind, bits, body.view, body.start))
            if kind == MessageType.CONTINUATION:
                _add_block(blocks, body)
            if len(messages) > MOST_MESSAGES:
                raise block.error(f"an object header has more than {MOST_MESSAGES} messages")
    return messages


def _add_block(blocks: list[tuple[int, int]], body: Cursor) -> None:
    block = body.offset(), body.length()
    if block in blocks:
        raise body.error("an object header continues with itself")
    blocks.append(block)
