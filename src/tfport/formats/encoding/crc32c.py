"""CRC32C checksums, and the masked form in which TensorFlow stores them.

Checksums are masked in files, since the CRC of bytes that contain their own CRC
is not reliable (`Mask` in TensorFlow's crc32c.h).
"""

from __future__ import annotations

SMALL = 1 << 20
MASK = 0xA282EAD8


def checksum(data: bytes | memoryview, after: int = 0) -> int:
    """The CRC32C of `data`, continuing from the checksum of the preceding bytes."""
    import google_crc32c

    if isinstance(data, memoryview):
        if data.nbytes > SMALL:
            import numpy as np

            # the extension accepts bytes and arrays but no memoryview; an array needs no copy
            return int(google_crc32c.extend(after, np.frombuffer(data, np.uint8)))
        data = bytes(data)
    return int(google_crc32c.extend(after, data))


def masked(crc: int) -> int:
    """The masked form of a checksum, as files store it."""
    return ((crc >> 15 | crc << 17) + MASK) & 0xFFFFFFFF
