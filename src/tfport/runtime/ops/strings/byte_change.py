"""A change of strings byte by byte: each byte becomes another one, or is removed."""

from __future__ import annotations

from tfport.startup.dataclass import dataclass

_UNCHANGED = bytes(range(256))


@dataclass(frozen=True, slots=True)
class ByteChange:
    """What each byte becomes, and the bytes that are removed."""

    becomes: bytes
    removed: bytes = b""

    def __call__(self, text: bytes) -> bytes:
        return text.translate(self.becomes, self.removed)

    def then(self, other: ByteChange) -> ByteChange:
        """Both changes, one after the other, as one."""
        removed = bytes(
            byte
            for byte, becomes in enumerate(self.becomes)
            if byte in self.removed or becomes in other.removed
        )
        return ByteChange(self.becomes.translate(other.becomes), removed)


LOWER, UPPER = ByteChange(_UNCHANGED.lower()), ByteChange(_UNCHANGED.upper())
"""ASCII letters in the other case."""


def replaced_bytes(old: bytes, new: bytes) -> ByteChange:
    """Each byte of `old` becomes `new`, which is at most one byte."""
    if not new:
        return ByteChange(_UNCHANGED, old)
    return ByteChange(_UNCHANGED.translate(bytes.maketrans(old, new * len(old))))
