"""CRC32C checksums, and the masked form in which TensorFlow stores them.

Checksums are masked in files, since the CRC of bytes that contain their own CRC
is not reliable (`Mask` in TensorFlow's crc32c.h).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALL = 1 << 20
MASK = 0xA282EAD8


@functools.cache
def extension() -> Callable[[int, Any], int]:
    """The function in C that continues a checksum."""
    import google_crc32c

    extend: Callable[[int, Any], int] = google_crc32c.extend
    return extend


def checksum(data: bytes | memoryview, after: int = 0) -> int:
    """The CRC32C of `data`, continuing from the checksum of the preceding bytes."""
    extend = extension()
    if isinstance(data, memoryview):
        if data.nbytes > SMALL:
            import numpy as np

            # the extension accepts bytes and arrays but no memoryview; an array needs no copy
            return int(extend(after, np.frombuffer(data, np.uint8)))
        data = bytes(data)
    return int(extend(after, data))


@overload
def masked(crc: int) -> int: ...


@overload
def masked(crc: NDArray[Any]) -> NDArray[Any]: ...


def masked(crc: Any) -> Any:
    """The masked form of a checksum, or of an array of them, as files store it."""
    return ((crc >> 15 | crc << 17) + MASK) & 0xFFFFFFFF
