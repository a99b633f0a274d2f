"""Encoder of PNG files with the same bytes as libpng: its choice of row filters and its compression."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

from tfport.runtime.ops.image.png import GRAY, GRAY_ALPHA, RGB, RGB_ALPHA, SIGNATURE, chunk

_CHUNK_BYTES = 8192
"""Compressed bytes in a chunk."""


def encode(image: Any, compression: int) -> bytes:
    """Encode an image of uint8 or uint16."""
    height, width, count = image.shape
    deep = image.dtype.itemsize > 1
    kind = {1: GRAY, 2: GRAY_ALPHA, 3: RGB, 4: RGB_ALPHA}[count]
    rows = np.ascontiguousarray(image.astype(">u2") if deep else image).view(np.uint8).reshape(height, -1)
    filtered = _filtered(rows, count * image.dtype.itemsize, width, height).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 16 if deep else 8, kind, 0, 0, 0)
    packed = _deflated(filtered, max(compression, -1))
    parts = [packed[i : i + _CHUNK_BYTES] for i in range(0, len(packed), _CHUNK_BYTES)]
    return b"".join(
        [SIGNATURE, chunk(b"IHDR", head), *(chunk(b"IDAT", p) for p in parts), chunk(b"IEND", b"")]
    )


def _deflated(data: bytes, level: int) -> bytes:
    bits = 15
    while bits > 8 and len(data) <= 16384 and len(data) + 262 <= 1 << (bits - 1):
        bits -= 1
    packer = zlib.compressobj(level, zlib.DEFLATED, max(bits, 9), 9, zlib.Z_FILTERED)
    packed = bytearray(packer.compress(data) + packer.flush())
    # libpng reduces the window size in the first byte to what decoding needs
    if len(data) <= 16384:
        window = packed[0] >> 4
        while window and len(data) <= 1 << (window + 7):
            window -= 1
        packed[0] = (window << 4) | 8
        packed[1] &= 0xE0
        packed[1] += 31 - ((packed[0] << 8) + packed[1]) % 31
    return bytes(packed)


def _filtered(rows: Any, step: int, width: int, height: int) -> Any:
    """Filter each row with the filter of the smallest sum, as libpng does."""
    x = rows.astype(np.int16)
    left, above = np.zeros_like(x), np.zeros_like(x)
    left[:, step:], above[1:] = x[:, :-step], x[:-1]
    corner = np.zeros_like(x)
    corner[1:, step:] = x[:-1, :-step]
    guess = left + above - corner
    a, b, c = abs(guess - left), abs(guess - above), abs(guess - corner)
    paeth = np.where((a <= b) & (a <= c), left, np.where(b <= c, above, corner))
    tried = np.stack([x, x - left, x - above, x - ((left + above) >> 1), x - paeth]) & 255
    sums = np.minimum(tried, 256 - tried).sum(-1, dtype=np.int64)
    if height == 1:
        sums[2:] = np.iinfo(np.int64).max
    if width == 1:
        sums[[1, 3, 4]] = np.iinfo(np.int64).max
    best = sums.argmin(0)
    chosen = tried[best, np.arange(height)].astype(np.uint8)
    return np.concatenate([best[:, None].astype(np.uint8), chosen], 1)
