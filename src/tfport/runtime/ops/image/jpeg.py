"""JPEG files decoded to the bit as TensorFlow does, through Pillow.

TensorFlow's default is libjpeg's fast inverse transform with smooth ("fancy") upsampling of
chroma. Pillow offers the accurate transform with smooth upsampling, or the fast one with
repeated chroma; so the fast and smooth picture is made of the latter: its YCbCr planes hold each
chroma sample repeated, from which libjpeg's own filter and colour tables are computed here.
"""

from __future__ import annotations

import io
import struct
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed

MOST = 1 << 29
"""Samples from which on TensorFlow refuses an image."""
BLOCK = 8


class Component(NamedTuple):
    number: int
    across: int
    down: int


class Header(NamedTuple):
    width: int
    height: int
    components: tuple[Component, ...]
    space: str
    adobe: bool


def header(data: bytes) -> Header:
    """What a JPEG says of itself before its first scan."""
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
    raise RunFailed("the JPEG has no frame")


def _frame(body: bytes, jfif: bool, adobe: bool, transform: int) -> Header:
    if len(body) < 6 or len(body) < 6 + 3 * body[5]:
        raise RunFailed("the frame of the JPEG is cut short")
    depth, height, width, count = struct.unpack_from(">BHHB", body)
    parts = tuple(
        Component(body[6 + 3 * i], body[7 + 3 * i] >> 4, body[7 + 3 * i] & 15) for i in range(count)
    )
    if depth != BLOCK or not width or not height or any(not p.across or not p.down for p in parts):
        raise RunFailed("the frame of the JPEG makes no sense")
    return Header(width, height, parts, _space(parts, jfif, adobe, transform), adobe)


def _space(parts: tuple[Component, ...], jfif: bool, adobe: bool, transform: int) -> str:
    """The colours of a file, as libjpeg guesses them."""
    if len(parts) == 4:
        return "YCCK" if adobe and transform == 2 else "CMYK"
    if len(parts) != 3:
        return "gray" if len(parts) == 1 else "unknown"
    if jfif:
        return "YCbCr"
    if adobe:
        return "RGB" if transform == 0 else "YCbCr"
    return "RGB" if bytes(p.number for p in parts) == b"RGB" else "YCbCr"


class Stretch(NamedTuple):
    """How often a component is repeated to fill the image."""

    across: int
    down: int


def _stretches(head: Header, ratio: int) -> list[Stretch]:
    """libjpeg shrinks each component by its inverse transform as far as that goes."""
    widest, tallest = max(p.across for p in head.components), max(p.down for p in head.components)
    least = BLOCK // ratio
    found = []
    for part in head.components:
        size = least
        while (
            size < BLOCK
            and widest * least % (part.across * size * 2) == 0
            and tallest * least % (part.down * size * 2) == 0
        ):
            size *= 2
        found.append(Stretch(widest * least // (part.across * size), tallest * least // (part.down * size)))
    return found


Window = tuple[int, int, int, int]
"""Of a crop: top, left, height, width."""


def decode(
    data: bytes, channels: int, ratio: int, fancy: bool, fast: bool, window: Window | None = None
) -> Any:
    """The picture, or a window of it, as [height, width, channels] of uint8."""
    head = header(data)
    channels = channels or min(len(head.components), 3)
    width, height = -(-head.width // ratio), -(-head.height // ratio)
    if width * height * len(head.components) >= MOST:
        raise RunFailed(f"the JPEG is too large: {width} x {height}")
    if channels not in (1, 3) or head.space == "unknown" or (channels == 1 and len(head.components) == 4):
        raise RunFailed(f"a JPEG in {head.space} cannot be decoded to {channels} channels")
    top, left, rows, columns = window or (0, 0, height, width)
    if min(top, left) < 0 or min(rows, columns) <= 0 or top + rows > height or left + columns > width:
        raise RunFailed(f"the window {[top, left, rows, columns]} is not inside of {height} x {width}")
    part = slice(top, top + rows), slice(left, left + columns)
    smoothed = ratio < BLOCK and any(_is_smoothed(s, width) for s in _stretches(head, ratio))
    if head.space == "gray" or channels == 1:
        return np.repeat(_pillow(data, "L", ratio, fast)[part][:, :, None], channels, 2)
    if smoothed and not fast and not fancy:
        raise RunFailed(
            "INTEGER_ACCURATE without fancy_upscaling is not offered for JPEGs with subsampled chroma"
        )
    if len(head.components) == 4:
        if smoothed and fast and fancy:
            raise RunFailed("JPEGs in CMYK with subsampled components are not offered")
        return _from_cmyk(255 - _pillow(data, "CMYK", ratio, fast)[part].astype(np.int32), head.adobe)
    # a crop begins at a whole unit, and libjpeg interpolates nothing across the borders of what it decodes
    unit = max(p.across for p in head.components) * BLOCK // ratio
    start, end = left // unit * unit, left + columns
    if not (smoothed and fast and fancy):
        if smoothed and fancy and (start == left > 0 or (end < width and end % 2 == 0)):
            raise RunFailed(
                "crops with INTEGER_ACCURATE are not offered where chroma is interpolated at borders"
            )
        return _pillow(data, "RGB", ratio, fast)[part]
    planes = _pillow(data, head.space, ratio, True)[:, start:end]
    parts = []
    for i, stretch in enumerate(_stretches(head, ratio)):
        plane = planes[:, :, i]
        plane = _smooth(plane, stretch) if _is_smoothed(stretch, width) else plane
        parts.append(plane[top : top + rows, -columns:])
    return np.stack(parts, -1) if head.space == "RGB" else _to_rgb(*parts)


def _pillow(data: bytes, mode: str, ratio: int, fast: bool) -> Any:
    """Decoded planes: accurate and smooth, or fast and repeated."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data), formats=["JPEG"]) as image:
            width, height = image.size
            size = -(-width // ratio), -(-height // ratio)
            codec, _, offset, given = image.tile[0]
            raw = str(given[0]) if mode == "CMYK" and given else mode  # Pillow reads all CMYK inverted
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


def _is_smoothed(stretch: Stretch, width: int) -> bool:
    """Whether libjpeg interpolates between samples that are repeated this often in an image of this width."""
    return stretch == (1, 2) or (stretch in ((2, 1), (2, 2)) and -(-width // 2) > 2)


def _smooth(plane: Any, stretch: Stretch) -> Any:
    """A plane of repeated samples with them interpolated instead, as libjpeg does for factors of two."""
    height, width = plane.shape
    samples = plane[:: stretch.down, :: stretch.across].astype(np.int32)
    if stretch == (2, 1):
        return _across(samples * 4, 4, 8)[:, :width].astype(np.uint8)
    if stretch == (1, 2):
        return (_down(samples, 1, 2) >> 2)[:height].astype(np.uint8)
    return _across(_down(samples, 0, 0), 8, 7)[:height, :width].astype(np.uint8)


def _down(samples: Any, above_bias: int, below_bias: int) -> Any:
    """Each row twice, three parts of itself and one of the row above or below."""
    above = np.concatenate([samples[:1], samples[:-1]])
    below = np.concatenate([samples[1:], samples[-1:]])
    pairs = np.stack([3 * samples + above + above_bias, 3 * samples + below + below_bias], 1)
    return pairs.reshape(-1, samples.shape[1])


def _across(sums: Any, left_bias: int, right_bias: int) -> Any:
    """Each column twice, three parts of itself and one of the column before or behind, in sixteenths."""
    before = np.concatenate([sums[:, :1], sums[:, :-1]], 1)
    behind = np.concatenate([sums[:, 1:], sums[:, -1:]], 1)
    pairs = np.stack([3 * sums + before + left_bias, 3 * sums + behind + right_bias], 2)
    return pairs.reshape(len(sums), -1) >> 4


def _fixed(x: float) -> int:
    return int(x * 65536 + 0.5)


def _to_rgb(y: Any, cb: Any, cr: Any) -> Any:
    y, blue, red = y.astype(np.int32), cb.astype(np.int32) - 128, cr.astype(np.int32) - 128
    half = 1 << 15
    rgb = [
        y + ((_fixed(1.402) * red + half) >> 16),
        y + ((-_fixed(0.34414) * blue - _fixed(0.71414) * red + half) >> 16),
        y + ((_fixed(1.772) * blue + half) >> 16),
    ]
    return np.clip(np.stack(rgb, -1), 0, 255).astype(np.uint8)


def _from_cmyk(cmyk: Any, adobe: bool) -> Any:
    ink, black = cmyk[..., :3], cmyk[..., 3:]
    return ((ink * black if adobe else (255 - ink) * (255 - black)) // 255).astype(np.uint8)
