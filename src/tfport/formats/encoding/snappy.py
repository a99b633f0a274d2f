"""Unpack snappy, which compresses the index of some checkpoints.

Literals and copies of what was unpacked before, as in the format's description. Blocks of an index are a few
kilobytes, so a compiled library would save less than it takes to install.
"""

from __future__ import annotations

LITERAL, NEAR, FAR = 0, 1, 2
"""Kinds of elements, in the last two bits of their first byte; 3 is a copy from further than FAR."""


def unpacked(packed: bytes, size: int, start: int) -> bytes:
    """The `size` bytes of a block whose elements begin at `start`; ValueError if they are not that."""
    out = bytearray()
    at, end = start, len(packed)
    while at < end and len(out) <= size:
        tag = packed[at]
        kind, length = tag & 3, (tag >> 2) + 1
        at += 1
        if kind == LITERAL:
            if length > 60:
                more = length - 60
                length = int.from_bytes(packed[at : at + more], "little") + 1
                at += more
            if at + length > end:
                raise ValueError("a literal beyond its end")
            out += packed[at : at + length]
            at += length
            continue
        more = kind if kind != 3 else 4
        offset = int.from_bytes(packed[at : at + more], "little")
        at += more
        if kind == NEAR:
            length, offset = (tag >> 2 & 7) + 4, offset | tag >> 5 << 8
        if not 0 < offset <= len(out) or at > end:
            raise ValueError("a copy from before its start")
        begin = len(out) - offset
        if length <= offset:
            out += out[begin : begin + length]
        else:  # it repeats what it writes
            pattern = out[begin:]
            out += (pattern * (length // offset + 1))[:length]
    if len(out) != size:
        raise ValueError(f"{len(out)} bytes and not {size}")
    return bytes(out)
