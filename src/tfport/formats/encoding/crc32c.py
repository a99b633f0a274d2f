"""Checksums of checkpoints: CRC32C, and the disguise in which TensorFlow stores it.

A checksum that lies in a file is masked, since the checksum of bytes that hold
their own checksum says little (`Mask` in TensorFlow's crc32c.h).
"""

from __future__ import annotations

SMALL = 1 << 20
MASK = 0xA282EAD8


def checksum(data: bytes | memoryview, after: int = 0) -> int:
    """The CRC32C of `data`, continuing from the checksum of what came before it."""
    import google_crc32c

    if isinstance(data, memoryview):
        if data.nbytes > SMALL:
            import numpy as np

            # the extension takes bytes and arrays, no memoryview: an array needs no copy
            return int(google_crc32c.extend(after, np.frombuffer(data, np.uint8)))
        data = bytes(data)
    return int(google_crc32c.extend(after, data))


def masked(crc: int) -> int:
    """A checksum as files store it."""
    return ((crc >> 15 | crc << 17) + MASK) & 0xFFFFFFFF


def unmasked(stored: int) -> int:
    """The checksum that a file stores."""
    rotated = (stored - MASK) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF
