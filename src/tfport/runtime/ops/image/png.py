"""Decode and encode PNG files as libpng does in TensorFlow, including 16-bit samples.

Pillow reverses the row filters for pixels of up to four bytes. Larger pixels and interlaced files
are unfiltered here, along diagonals, since each byte depends on those to its left and above it.
The encoder writes libpng's bytes: its choice of row filters and its compression.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import reserve_memory
from tfport.runtime.ops.image.row_bands import by_rows

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GRAY, RGB, PALETTE, GRAY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6
_SAMPLES = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGB_ALPHA: 4}
_DEPTHS = {
    GRAY: (1, 2, 4, 8, 16),
    RGB: (8, 16),
    PALETTE: (1, 2, 4, 8),
    GRAY_ALPHA: (8, 16),
    RGB_ALPHA: (8, 16),
}
_PASSES = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
"""Of interlaced files: first row and column, row and column step."""
_GAMMA_OF_SRGB = 45455
_CHUNK_BYTES = 8192
"""Compressed bytes in a chunk."""


class PngFile(NamedTuple):
    width: int
    height: int
    depth: int
    kind: int
    interlaced: bool
    palette: Any
    alphas: Any
    gamma: int
    data: bytes


def _chunks(data: bytes) -> Any:
    at = len(SIGNATURE)
    while at + 12 <= len(data):
        length = struct.unpack_from(">I", data, at)[0]
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        if (
            len(body) != length
            or zlib.crc32(kind + body) != struct.unpack_from(">I", data + b"\0" * 4, at + 8 + length)[0]
        ):
            if kind[0] & 32 and len(body) == length:  # skip damaged chunks that are not critical
                at += 12 + length
                continue
            raise RunFailed("the PNG is truncated or corrupt")
        yield kind, body
        if kind == b"IEND":
            return
        at += 12 + length
    raise RunFailed("the PNG is truncated: it has no IEND chunk")


def parse(data: bytes) -> PngFile:
    head: tuple[int, ...] = ()
    palette, alphas, gamma, parts = None, None, 0, []
    for kind, body in _chunks(data):
        if not head and kind != b"IHDR":
            raise RunFailed("the PNG does not begin with an IHDR chunk")
        if kind == b"IHDR":
            head = struct.unpack(">IIBBBBB", body) if len(body) == 13 else ()
        elif kind == b"PLTE":
            palette = np.frombuffer(body, np.uint8).reshape(-1, 3)
        elif kind == b"tRNS":
            alphas = body
        elif kind == b"gAMA" and not gamma and len(body) == 4:
            gamma = struct.unpack(">I", body)[0]
        elif kind == b"sRGB":
            gamma = _GAMMA_OF_SRGB
        elif kind == b"IDAT":
            parts.append(body)
    if not head:
        raise RunFailed("the PNG has no header")
    width, height, depth, color, method, filters, interlaced = head
    if color not in _SAMPLES or depth not in _DEPTHS[color] or method or filters or interlaced > 1:
        raise RunFailed("the PNG has an invalid header")
    if not 0 < width < 1 << 27 or not 0 < height < 1 << 27 or width * height >= 1 << 29:
        raise RunFailed(f"the PNG is too large: {width} x {height}")
    if color == PALETTE and palette is None:
        raise RunFailed("the PNG has no palette")
    return PngFile(width, height, depth, color, bool(interlaced), palette, alphas, gamma, b"".join(parts))


def decode(data: bytes, channels: int, deep: bool) -> Any:
    """Decode to [height, width, channels] of uint16 if `deep`, otherwise of uint8."""
    file = parse(data)
    colored = file.kind in (RGB, PALETTE, RGB_ALPHA)
    if not channels:
        channels = (4 if file.alphas else 3) if file.kind == PALETTE else _SAMPLES[file.kind]
    area = file.width * file.height
    # measured: the inflated rows, what Pillow makes of them, and their samples; then colors joined with alpha
    colors = area * max(channels, 3 if colored else 1) * (2 if deep or file.depth == 16 else 1)
    rows = max(area, file.height * _row_bytes(file, file.width))
    reserve_memory(area * channels * (2 if deep else 1), 3 * (rows + colors))
    pixels = _pixels(file)
    alpha = _alpha(file, pixels) if channels % 2 == 0 else None
    color = (
        file.palette[np.minimum(pixels[..., 0], len(file.palette) - 1)] if file.kind == PALETTE else pixels
    )
    color = color[..., : 3 if colored else 1]
    if file.kind == GRAY and file.depth < 8:
        color = color * (255 // ((1 << file.depth) - 1))
    if channels < 3 and colored:
        color = by_rows(lambda part: _gray(part.astype(np.int64), file).astype(part.dtype), color)
    elif channels > 2 and not colored:
        color = np.repeat(color, 3, -1)
    whole = color if alpha is None else np.concatenate([color, alpha.astype(color.dtype)], -1)
    if file.depth == 16:
        return whole.astype(np.uint16) if deep else (whole >> 8).astype(np.uint8)
    return whole.astype(np.uint16) * 257 if deep else whole.astype(np.uint8)


def _alpha(file: PngFile, pixels: Any) -> Any:
    if file.kind in (GRAY_ALPHA, RGB_ALPHA):
        return pixels[..., -1:]
    if (
        file.alphas is None
    ):  # libpng fills with the largest sample of the file's depth, also if samples were widened
        return np.full((*pixels.shape[:2], 1), (1 << file.depth) - 1, np.uint16)
    if file.kind == PALETTE:
        table = np.full(256, 255, np.uint8)
        table[: len(file.alphas)] = np.frombuffer(file.alphas, np.uint8)
        return table[pixels]
    transparent = np.frombuffer(file.alphas, ">u2")[: pixels.shape[-1]]
    most = 65535 if file.depth == 16 else 255
    return np.where((pixels == transparent).all(-1, keepdims=True), np.uint16(0), np.uint16(most))


def _gray(color: Any, file: PngFile) -> Any:
    """Gray with libpng's weights 0.299 and 0.587, in linear light if the file has a gamma."""
    red, green = 29900 * 32768 // 100000, 58700 * 32768 // 100000
    weights = np.array([red, green, 32768 - red - green])
    is_gray = (color == color[..., :1]).all(-1, keepdims=True)
    if file.gamma and abs(file.gamma - 100000) > 5000:
        if file.depth == 16:
            raise RunFailed("converting a 16-bit PNG with a gamma to gray is not supported")
        to_linear, from_linear = _gamma_table(1e5 / file.gamma), _gamma_table(file.gamma / 1e5)
        mixed = from_linear[(to_linear[color] @ weights + 16384) >> 15]
    else:
        mixed = (color @ weights + (16384 if file.depth == 16 else 0)) >> 15
    return np.where(is_gray, color[..., :1], mixed[..., None])


def _gamma_table(power: float) -> Any:
    return np.floor(255 * (np.arange(256) / 255) ** power + 0.5).astype(np.int64)


def _pixels(file: PngFile) -> Any:
    """Samples as integers: [height, width, samples]."""
    if not file.interlaced:
        return _samples(_rows(file, _inflated(file, file.data), file.width, file.height), file, file.width)
    raw = _inflated(file, file.data)
    out = np.zeros((file.height, file.width, _SAMPLES[file.kind]), np.uint16)
    for top, left, down, across in _PASSES:
        height, width = -(-(file.height - top) // down), -(-(file.width - left) // across)
        if height <= 0 or width <= 0:
            continue
        size = height * (1 + _row_bytes(file, width))
        rows = _unfiltered(raw[:size].reshape(height, -1), _step(file))
        out[top::down, left::across] = _samples(rows, file, width)
        raw = raw[size:]
    return out


def _row_bytes(file: PngFile, width: int) -> int:
    return (width * _SAMPLES[file.kind] * file.depth + 7) // 8


def _step(file: PngFile) -> int:
    """Distance in bytes to the same byte of the previous pixel."""
    return max(_SAMPLES[file.kind] * file.depth // 8, 1)


def _inflated(file: PngFile, data: bytes) -> Any:
    if file.interlaced:
        sizes = [(-(-(file.height - t) // d), -(-(file.width - m) // a)) for t, m, d, a in _PASSES]
        needed = sum(h * (1 + _row_bytes(file, w)) for h, w in sizes if h > 0 and w > 0)
    else:
        needed = file.height * (1 + _row_bytes(file, file.width))
    try:
        raw = zlib.decompressobj().decompress(data, needed)
    except zlib.error as error:
        raise RunFailed(f"the data of the PNG is corrupt: {error}") from None
    if len(raw) < needed:
        raise RunFailed("the data of the PNG is truncated")
    return np.frombuffer(raw, np.uint8)


def _rows(file: PngFile, raw: Any, width: int, height: int) -> Any:
    lines, step = raw.reshape(height, -1), _step(file)
    if lines[:, 0].max() > 4:
        raise RunFailed("a row of the PNG has an unknown filter")
    if not lines[:, 0].any():
        return lines[:, 1:]
    if step > 4 or width * height < 256:
        return _unfiltered(lines, step)
    from PIL import Image

    kind = {1: GRAY, 2: GRAY_ALPHA, 3: RGB, 4: RGB_ALPHA}[step]
    head = struct.pack(">IIBBBBB", (lines.shape[1] - 1) // step, height, 8, kind, 0, 0, 0)
    plain = SIGNATURE + chunk(b"IHDR", head) + chunk(b"IDAT", file.data) + chunk(b"IEND", b"")
    with Image.open(io.BytesIO(plain), formats=["PNG"]) as image:
        return np.asarray(image).reshape(height, -1)


def _unfiltered(lines: Any, step: int) -> Any:
    """Reverse the row filters, one diagonal at a time."""
    height, kinds = len(lines), lines[:, 0]
    filtered = lines[:, 1:].reshape(height, -1, step).astype(np.int16)
    width = filtered.shape[1]
    out = np.zeros((height + 1, width + 1, step), np.int16)
    for diagonal in range(height + width - 1):
        y = np.arange(max(0, diagonal - width + 1), min(height, diagonal + 1))
        x = diagonal - y
        left, above, corner = out[y + 1, x], out[y, x + 1], out[y, x]
        kind = kinds[y][:, None]
        guess = left + above - corner
        a, b, c = abs(guess - left), abs(guess - above), abs(guess - corner)
        paeth = np.where((a <= b) & (a <= c), left, np.where(b <= c, above, corner))
        base = np.choose(kind, [np.zeros_like(left), left, above, (left + above) >> 1, paeth])
        out[y + 1, x + 1] = (filtered[y, x] + base) & 255
    return out[1:, 1:].reshape(height, -1).astype(np.uint8)


def _samples(rows: Any, file: PngFile, width: int) -> Any:
    count = _SAMPLES[file.kind]
    if file.depth == 16:
        return np.ascontiguousarray(rows).view(">u2").astype(np.uint16).reshape(-1, width, count)
    if file.depth == 8:
        return rows.reshape(-1, width, count)
    return by_rows(lambda part: _wide(part, file.depth)[:, :width, None], rows)


def _wide(rows: Any, depth: int) -> Any:
    """Samples of less than a byte as bytes."""
    bits = np.unpackbits(rows, axis=1).reshape(len(rows), -1, depth)
    return (bits @ (1 << np.arange(depth)[::-1])).astype(np.uint8)


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


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
