"""Decoder of GIF files.

As in TensorFlow, each frame is drawn over the previous one; disposal methods are ignored.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import reserve_memory

MAX_BYTES = 1 << 31
"""An animation of this size or more is an error."""


class GifFrame(NamedTuple):
    """An image block of the file; `clear` is the transparent color, `data` the compressed indices."""

    left: int
    top: int
    width: int
    height: int
    flags: int
    colors: Any
    clear: int | None
    data: bytes


def decode(data: bytes, all_frames: bool) -> Any:
    """Decode to uint8 of [frames, height, width, 3]; only the first frame unless `all_frames`."""
    if len(data) < 13 or data[:6] not in (b"GIF87a", b"GIF89a"):
        raise RunFailed("the GIF has no header")
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    at, colors = _table(data, 13, flags)
    frames: list[Any] = []
    canvas = np.zeros((height, width, 3), np.uint8)
    for frame in _frames(data, at, colors):
        # all frames are joined at the end; the colors of one take 24 bytes for each pixel, as measured
        reserve_memory(canvas.size, canvas.size * len(frames) + 24 * frame.width * frame.height)
        canvas = _draw(canvas, frame)
        frames.append(canvas)
        if not all_frames:
            break
        if len(frames) * canvas.size >= MAX_BYTES:
            raise RunFailed(f"the GIF is too large: at least {len(frames)} frames of {width} x {height}")
    if not frames:
        raise RunFailed("the GIF has no frame")
    return np.stack(frames)


def _table(data: bytes, at: int, flags: int) -> tuple[int, Any]:
    if not flags & 0x80:
        return at, None
    size = 3 << ((flags & 7) + 1)
    if at + size > len(data):
        raise RunFailed("the GIF is truncated")
    return at + size, np.frombuffer(data, np.uint8, size, at).reshape(-1, 3)


def _frames(data: bytes, at: int, shared: Any) -> Iterator[GifFrame]:
    clear = None
    try:
        while data[at] != 0x3B:
            if data[at] == 0x21:
                label, (end, body) = data[at + 1], _blocks(data, at + 2)
                if label == 0xF9 and len(body) >= 4:
                    clear = body[3] if body[0] & 1 else None
                at = end
            elif data[at] == 0x2C:
                left, top, width, height, flags = struct.unpack_from("<HHHHB", data, at + 1)
                start, own = _table(data, at + 10, flags)
                at, _ = _blocks(data, start + 1)
                yield GifFrame(
                    left, top, width, height, flags, shared if own is None else own, clear, data[start:at]
                )
                clear = None
            else:
                raise RunFailed(f"the GIF has an unknown block {data[at]:#x}")
    except (IndexError, struct.error):
        raise RunFailed("the GIF is truncated") from None


def _blocks(data: bytes, at: int) -> tuple[int, bytes]:
    """The end of a sequence of sub-blocks, and their contents."""
    parts = []
    while size := data[at]:
        if at + 1 + size >= len(data):
            raise IndexError
        parts.append(data[at + 1 : at + 1 + size])
        at += 1 + size
    return at + 1, b"".join(parts)


def _draw(canvas: Any, frame: GifFrame) -> Any:
    if frame.colors is None:
        raise RunFailed("a frame of the GIF has no color table")
    indices = _indices(frame)
    out = canvas.copy()
    area = out[frame.top : frame.top + frame.height, frame.left : frame.left + frame.width]
    indices = indices[: area.shape[0], : area.shape[1]]
    opaque = np.ones(indices.shape, bool) if frame.clear is None else indices != frame.clear
    if np.any(indices[opaque] >= len(frame.colors)):
        raise RunFailed("a pixel of the GIF has an index outside of its color table")
    area[opaque] = frame.colors[indices[opaque]]
    return out


def _indices(frame: GifFrame) -> Any:
    """The color indices of the pixels, decoded by Pillow from a file with only this frame."""
    from PIL import Image

    if frame.width * frame.height >= MAX_BYTES // 4:
        raise RunFailed("the GIF is too large")
    colors = bytes(range(255, -1, -1)) * 3  # not a gray ramp, which Pillow would decode to grayscale
    file = b"".join(
        [
            b"GIF87a", struct.pack("<HHBBB", frame.width, frame.height, 0xF7, 0, 0), colors,
            b"\x2c", struct.pack("<HHHHB", 0, 0, frame.width, frame.height, frame.flags & 0x40),
            frame.data, b"\x3b",
        ]
    )  # fmt: skip
    try:
        with Image.open(io.BytesIO(file), formats=["GIF"]) as image:
            return np.asarray(image)
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise RunFailed(f"a frame of the GIF cannot be decoded: {error}") from None
