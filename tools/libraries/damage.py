"""Damage a valid library: change or remove bytes."""

import struct

HEADER = 64
DATA, SYSTEM = 5, 7
SECTION_TABLE, SECTION_COUNTS = 40, 58
PROGRAM_TABLE = 32
DYNAMIC = 2
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")


def cut_in_the_header(library: bytes) -> bytes:
    return library[: HEADER // 2]


def cut_after_the_header(library: bytes) -> bytes:
    return library[:HEADER]


def cut_in_the_middle(library: bytes) -> bytes:
    """An interrupted download."""
    return library[: len(library) // 2]


def cut_in_the_dynamic_section(library: bytes) -> bytes:
    return library[: dynamic_offset(library) + 100]


def without_the_end(library: bytes) -> bytes:
    return library[: len(library) - HEADER]


def zeros_from_the_middle(library: bytes) -> bytes:
    """An interrupted download into a preallocated file."""
    middle = len(library) // 2
    return library[:middle] + bytes(len(library) - middle)


def zeros_in_the_dynamic_section(library: bytes) -> bytes:
    at = dynamic_offset(library)
    return library[:at] + bytes(16) + library[at + 16 :]


def without_section_headers(library: bytes) -> bytes:
    """Remove the section headers, which loaders do not read."""
    changed = bytearray(library)
    changed[SECTION_TABLE : SECTION_TABLE + 8] = bytes(8)
    changed[SECTION_COUNTS : SECTION_COUNTS + 6] = bytes(6)
    (at,) = struct.unpack_from("<Q", library, SECTION_TABLE)
    return bytes(changed[:at])


def big_endian(library: bytes) -> bytes:
    return replaced(library, DATA, 2)


def of_another_system(library: bytes) -> bytes:
    """The OS ABI of FreeBSD."""
    return replaced(library, SYSTEM, 9)


def in_text_mode(library: bytes) -> bytes:
    """A transfer in text mode."""
    return library.replace(b"\n", b"\r\n")


def replaced(library: bytes, at: int, value: int) -> bytes:
    return library[:at] + bytes([value]) + library[at + 1 :]


def dynamic_offset(library: bytes) -> int:
    """The offset of the dynamic section in the file."""
    (table,) = struct.unpack_from("<Q", library, PROGRAM_TABLE)
    headers = PROGRAM_HEADER.iter_unpack(library[table : table + 20 * PROGRAM_HEADER.size])
    return next(offset for kind, _, offset, *_ in headers if kind == DYNAMIC)
