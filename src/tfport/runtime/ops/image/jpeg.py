"""Decoder of JPEG files with the same bits as TensorFlow, based on Pillow.

TensorFlow's default is libjpeg's fast inverse transform with smooth ("fancy") upsampling of
chroma. Pillow offers the accurate transform with smooth upsampling, or the fast one with
repeated chroma samples. The fast transform with smooth upsampling is computed here from the
latter: the chroma samples are read back from the repeated ones, then filtered and converted to
RGB as in libjpeg.
"""

from __future__ import annotations

import io
import struct
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import reserve_memory
from tfport.runtime.ops.image.row_bands import by_rows

MAX_SAMPLES = 1 << 29
"""TensorFlow rejects an image of this many samples or more."""
BLOCK = 8


class JpegComponent(NamedTuple):
    number: int
    across: int
    down: int


class JpegHeader(NamedTuple):
    width: int
    height: int
    components: tuple[JpegComponent, ...]
    space: str
    adobe: bool


def header(data: bytes) -> JpegHeader:
    """Parse the markers before the first scan."""
    at, jfif, adobe, transform = 2, False, False, 0
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            at += 1
            continue
        marker = data[at + 1]
        if marker in (0xFF, 0x00, 0x01) or 0xD0 <= marker <= 0xD8:
            at += 1 if marker == 0xFF else 2
            continue
        length = struct.unpack_from(">H", data, at + 2)[0]
        body = data[at + 4 : at + 2 + length]
        if marker == 0xE0 and body[:5] == b"JFIF\0":
            jfif = True
        elif marker == 0xEE and body[:5] == b"Adobe" and len(body) >= 12:
            adobe, transform = True, body[11]
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _frame(body, jfif, adobe, transform)
        elif marker in (0xD9, 0xDA):
            break
        at += 2 + length
    raise RunFailed("the JPEG has no frame header")


def _frame(body: bytes, jfif: bool, adobe: bool, transform: int) -> JpegHeader:
    if len(body) < 6 or len(body) < 6 + 3 * body[5]:
        raise RunFailed("the frame header of the JPEG is truncated")
    depth, height, width, count = struct.unpack_from(">BHHB", body)
    parts = tuple(
        JpegComponent(body[6 + 3 * i], body[7 + 3 * i] >> 4, body[7 + 3 * i] & 15) for i in range(count)
    )
    if depth != BLOCK or not width or not height or any(not p.across or not p.down for p in parts):
        raise RunFailed("the frame header of the JPEG is invalid")
    return JpegHeader(width, height, parts, _space(parts, jfif, adobe, transform), adobe)


def _space(parts: tuple[JpegComponent, ...], jfif: bool, adobe: bool, transform: int) -> str:
    """The color space of a file, inferred as in libjpeg."""
    if len(parts) == 4:
        return "YCCK" if adobe and transform == 2 else "CMYK"
    if len(parts) != 3:
        return "gray" if len(parts) == 1 else "unknown"
    if jfif:
        return "YCbCr"
    if adobe:
        return "RGB" if transform == 0 else "YCbCr"
    return "RGB" if bytes(p.number for p in parts) == b"RGB" else "YCbCr"


class Upsampling(NamedTuple):
    """How many times the samples of a component are repeated along each axis."""

    across: int
    down: int


def _upsamplings(head: JpegHeader, ratio: int) -> list[Upsampling]:
    """Factors left after libjpeg has scaled each component as far as its inverse transform allows."""
    widest, tallest = max(p.across for p in head.components), max(p.down for p in head.components)
    least = BLOCK // ratio
    factors = []
    for part in head.components:
        size = least
        while (
            size < BLOCK
            and widest * least % (part.across * size * 2) == 0
            and tallest * least % (part.down * size * 2) == 0
        ):
            size *= 2
        factors.append(
            Upsampling(widest * least // (part.across * size), tallest * least // (part.down * size))
        )
    return factors


Window = tuple[int, int, int, int]
"""A crop: top, left, height, width."""


def decode(
    data: bytes, channels: int, ratio: int, fancy: bool, fast: bool, window: Window | None = None
) -> Any:
    """Decode to uint8 of [height, width, channels]: the whole image or a window of it."""
    head = header(data)
    channels = channels or min(len(head.components), 3)
    width, height = -(-head.width // ratio), -(-head.height // ratio)
    if width * height * len(head.components) >= MAX_SAMPLES:
        raise RunFailed(f"the JPEG is too large: {width} x {height}")
    if channels not in (1, 3) or head.space == "unknown" or (channels == 1 and len(head.components) == 4):
        raise RunFailed(f"a JPEG of color space {head.space} cannot be decoded to {channels} channels")
    top, left, rows, columns = window or (0, 0, height, width)
    if min(top, left) < 0 or min(rows, columns) <= 0 or top + rows > height or left + columns > width:
        raise RunFailed(
            f"crop_window {[top, left, rows, columns]} must lie inside the image, {height} x {width}"
        )
    is_gray = head.space == "gray" or channels == 1
    # measured: what Pillow decodes, the planes of it, and the smoothed ones
    reserve_memory(rows * columns * channels, height * width * (4 if is_gray else 11))
    part = slice(top, top + rows), slice(left, left + columns)
    smoothed = ratio < BLOCK and any(_is_smoothed(s, width) for s in _upsamplings(head, ratio))
    if is_gray:
        return np.repeat(_decode_planes(data, head, "L", ratio, fast)[part][:, :, None], channels, 2)
    if smoothed and not fast and not fancy:
        raise RunFailed(
            "INTEGER_ACCURATE without fancy_upscaling is not supported for JPEGs with subsampled chroma"
        )
    if len(head.components) == 4:
        if smoothed and fast and fancy:
            raise RunFailed("CMYK JPEGs with subsampled components are not supported")
        planes = _decode_planes(data, head, "CMYK", ratio, fast)[part]
        return by_rows(lambda cmyk: _from_cmyk(255 - cmyk.astype(np.int32), head.adobe), planes)
    # a crop is decoded from a whole unit; libjpeg does not interpolate across the border of the decoded part
    unit = max(p.across for p in head.components) * BLOCK // ratio
    start, end = left // unit * unit, left + columns
    if not (smoothed and fast and fancy):
        if smoothed and fancy and (start == left > 0 or (end < width and end % 2 == 0)):
            raise RunFailed(
                "crops with INTEGER_ACCURATE are not supported where chroma is interpolated at the border"
            )
        return _decode_planes(data, head, "RGB", ratio, fast)[part]
    planes = _decode_planes(data, head, head.space, ratio, True)[:, start:end]
    parts = []
    for i, factors in enumerate(_upsamplings(head, ratio)):
        plane = planes[:, :, i]
        plane = _smooth(plane, factors) if _is_smoothed(factors, width) else plane
        parts.append(plane[top : top + rows, -columns:])
    return np.stack(parts, -1) if head.space == "RGB" else by_rows(_to_rgb, *parts)


def _decode_planes(data: bytes, head: JpegHeader, mode: str, ratio: int, fast: bool) -> Any:
    """Planes decoded by Pillow: accurate and smooth, or fast and repeated."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data), formats=["JPEG"]) as image:
            width, height = image.size
            if (width, height) != (head.width, head.height):
                raise RunFailed("the JPEG has two frame headers")
            size = -(-width // ratio), -(-height // ratio)
            codec, _, offset, arguments = image.tile[0]
            raw = str(arguments[0]) if mode == "CMYK" and arguments else mode  # Pillow inverts all CMYK
            image._mode, image._size = mode, size
            image.tile = [type(image.tile[0])(codec, (0, 0, *size), offset, (raw, ""))]
            image.decoderconfig = (ratio, int(fast))
            return np.asarray(image)
    except (
        OSError,
        SyntaxError,
        UnidentifiedImageError,
        Image.DecompressionBombError,
        struct.error,
    ) as error:
        raise RunFailed(f"the JPEG cannot be decoded: {error}") from None


def _is_smoothed(factors: Upsampling, width: int) -> bool:
    """Whether libjpeg interpolates between samples with these factors in an image of this width."""
    return factors == (1, 2) or (factors in ((2, 1), (2, 2)) and -(-width // 2) > 2)


def _smooth(plane: Any, factors: Upsampling) -> Any:
    """A plane with interpolated instead of repeated samples, as in libjpeg for factors of two."""
    height, width = plane.shape
    samples = plane[:: factors.down, :: factors.across].astype(np.int32)
    if factors == (2, 1):
        return by_rows(lambda part: _across(part * 4, 4, 8)[:, :width].astype(np.uint8), samples)
    if factors == (1, 2):
        return (_down(samples, 1, 2) >> 2)[:height].astype(np.uint8)
    sums = _down(samples, 0, 0)[:height]
    return by_rows(lambda part: _across(part, 8, 7)[:, :width].astype(np.uint8), sums)


def _down(samples: Any, above_bias: int, below_bias: int) -> Any:
    """Double the rows: three parts of each row and one of the row above or below."""
    above = np.concatenate([samples[:1], samples[:-1]])
    below = np.concatenate([samples[1:], samples[-1:]])
    pairs = np.stack([3 * samples + above + above_bias, 3 * samples + below + below_bias], 1)
    return pairs.reshape(-1, samples.shape[1])


def _across(sums: Any, left_bias: int, right_bias: int) -> Any:
    """Double the columns: three parts of each and one of the column before or after, in sixteenths."""
    before = np.concatenate([sums[:, :1], sums[:, :-1]], 1)
    after = np.concatenate([sums[:, 1:], sums[:, -1:]], 1)
    pairs = np.stack([3 * sums + before + left_bias, 3 * sums + after + right_bias], 2)
    return pairs.reshape(len(sums), -1) >> 4


def _fixed_point(x: float) -> int:
    return int(x * 65536 + 0.5)


def _to_rgb(y: Any, cb: Any, cr: Any) -> Any:
    y, blue, red = y.astype(np.int32), cb.astype(np.int32) - 128, cr.astype(np.int32) - 128
    half = 1 << 15
    rgb = [
        y + ((_fixed_point(1.402) * red + half) >> 16),
        y + ((-_fixed_point(0.34414) * blue - _fixed_point(0.71414) * red + half) >> 16),
        y + ((_fixed_point(1.772) * blue + half) >> 16),
    ]
    return np.clip(np.stack(rgb, -1), 0, 255).astype(np.uint8)


def _from_cmyk(cmyk: Any, adobe: bool) -> Any:
    ink, black = cmyk[..., :3], cmyk[..., 3:]
    return ((ink * black if adobe else (255 - ink) * (255 - black)) // 255).astype(np.uint8)
