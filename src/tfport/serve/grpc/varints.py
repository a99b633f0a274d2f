"""Write packed lists of integers as protobuf varints: seven bits per byte, low bits first.

Vectorized: one step per byte of the longest number, each over many numbers at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MORE, LOW, BITS = 0x80, 0x7F, 7
CHUNK = 1 << 15
"""Numbers per chunk, small enough for the processor's cache."""


def write_varints(numbers: NDArray[np.uint64]) -> bytes:
    """Return the bytes of a packed list."""
    if not numbers.size or numbers.max() < MORE:
        return numbers.astype(np.uint8).tobytes()
    parts = (numbers[at : at + CHUNK] for at in range(0, len(numbers), CHUNK))
    return b"".join(map(_written, parts))


def _written(numbers: NDArray[np.uint64]) -> bytes:
    """Write all numbers with the length of the longest, then drop the unused bytes."""
    longest = max(1, -(-int(numbers.max()).bit_length() // BITS))
    octets: NDArray[np.uint8] = np.empty((len(numbers), longest), np.uint8)
    kept: NDArray[Any] = np.empty((len(numbers), longest), np.bool_)
    left = numbers.copy()
    kept[:, 0] = True
    for place in range(longest):
        octets[:, place] = left.astype(np.uint8) & LOW
        left >>= np.uint64(BITS)
        more = left > 0
        octets[:, place] |= more.astype(np.uint8) << BITS
        if place + 1 < longest:
            kept[:, place + 1] = more
    compact: NDArray[np.uint8] = octets[kept]
    return compact.tobytes()
