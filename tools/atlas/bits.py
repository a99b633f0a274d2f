"""Sets of builds as bits of an integer: bit n is build n.

A build that is inserted or removed in the middle renumbers those behind it.
"""


def insert(bits: int, position: int, value: bool = False) -> int:
    """Insert a bit at a position and move the higher ones up."""
    low = bits & (1 << position) - 1
    return (bits >> position << 1 | value) << position | low


def remove(bits: int, position: int) -> int:
    """Remove the bit at a position and move the higher ones down."""
    low = bits & (1 << position) - 1
    return bits >> position + 1 << position | low


def to_bytes(bits: int) -> bytes:
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def from_bytes(body: bytes) -> int:
    return int.from_bytes(body, "little")
