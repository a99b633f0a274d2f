"""Decoders of image files. As in TensorFlow, most read every format; only shapes and attributes differ.

Truncated files are an error, also with `try_recover_truncated`.
"""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import reserve_memory
from tfport.runtime.lower import host
from tfport.runtime.ops.image import gif as _gif
from tfport.runtime.ops.image import jpeg as _jpeg
from tfport.runtime.ops.image import png as _png

_FAST_DCT = {"": True, "INTEGER_FAST": True, "INTEGER_ACCURATE": False}
_RATIOS = (1, 2, 4, 8)


def _content(contents: Any) -> bytes:
    if contents.ndim:
        raise RunFailed(f"contents must be a scalar, found shape {list(contents.shape)}")
    data = bytes(contents[()])
    if not data:
        raise RunFailed("contents is empty")
    return data


def _format(data: bytes) -> str:
    if data.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if data.startswith(_png.SIGNATURE):
        return "PNG"
    if data.startswith(b"GIF8"):
        return "GIF"
    if data.startswith(b"BM"):
        return "BMP"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WebP"
    raise RunFailed("contents is not a JPEG, PNG, GIF, BMP or WebP file")


def _reject_formats(data: bytes, *formats: str) -> None:
    if (file_format := _format(data)) in formats:
        raise RunFailed(f"this op does not decode {file_format} files")


def _decode(
    data: bytes,
    channels: int,
    dtype: Any = np.uint8,
    animated: bool = False,
    jpeg: dict[str, Any] | None = None,
) -> Any:
    """Decode a file of any format to [height, width, channels], with a leading frame axis if `animated`."""
    if channels not in (0, 1, 3, 4):
        raise RunFailed(f"channels must be 0, 1, 3 or 4, found {channels}")
    file_format = _format(data)
    if file_format == "PNG":
        picture = _png.decode(data, channels, deep=dtype != np.uint8)
        return _multiplied(picture, np.float32(1 / 65535)) if dtype == np.float32 else picture
    if file_format == "JPEG":
        if channels == 4:
            raise RunFailed("a JPEG cannot be decoded to 4 channels")
        return _scaled(_jpeg.decode(data, channels, **(jpeg or _JPEG_DEFAULTS)), dtype)
    if file_format == "GIF":
        if channels not in (0, 3):
            raise RunFailed(f"channels must be 0 or 3 for a GIF, found {channels}")
        frames = _gif.decode(data, all_frames=animated)
        return _scaled(frames if animated else frames[0], dtype)
    if file_format == "BMP":
        return _scaled(_bmp(data, channels), dtype)
    return _webp(data, channels, dtype, animated)


_JPEG_DEFAULTS = {"ratio": 1, "fancy": True, "fast": True}


def _scaled(picture: Any, dtype: Any) -> Any:
    if dtype == np.uint16:
        return _multiplied(picture, np.uint16(256))
    return _multiplied(picture, np.float32(1 / 255)) if dtype == np.float32 else picture


def _multiplied(picture: Any, factor: Any) -> Any:
    reserve_memory(picture.size * factor.itemsize)
    wide = picture.astype(factor.dtype)
    return np.multiply(wide, factor, out=wide)


def _options(ratio: int, fancy: bool, dct_method: str) -> dict[str, Any]:
    if ratio not in _RATIOS or dct_method not in _FAST_DCT:
        raise RunFailed(f"unsupported ratio {ratio} or dct_method {dct_method!r}")
    return {"ratio": ratio, "fancy": fancy, "fast": _FAST_DCT[dct_method]}


@host("DecodeJpeg")
def decode_jpeg(
    contents, *, channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
):
    data = _content(contents)
    _reject_formats(data, "BMP")
    return _decode_single_frame(data, channels, np.uint8, _options(ratio, fancy_upscaling, dct_method))


@host("DecodeAndCropJpeg")
def decode_and_crop_jpeg(
    contents,
    crop_window,
    *,
    channels,
    ratio,
    fancy_upscaling,
    try_recover_truncated,
    acceptable_fraction,
    dct_method,
):
    data = _content(contents)
    _reject_formats(data, "BMP", "WebP", "GIF", "PNG")
    if crop_window.shape != (4,):
        raise RunFailed(f"crop_window must have 4 elements, found shape {list(crop_window.shape)}")
    options = _options(ratio, fancy_upscaling, dct_method)
    top, left, height, width = crop_window.tolist()
    return _jpeg.decode(data, channels, **options, window=(top, left, height, width))


def _decode_single_frame(data: bytes, channels: int, dtype: Any, jpeg: dict[str, Any] | None = None) -> Any:
    if _format(data) != "GIF":
        return _decode(data, channels, dtype, animated=_format(data) == "WebP", jpeg=jpeg)
    frames = _decode(data, channels, dtype, animated=True)
    if len(frames) > 1:
        raise RunFailed(f"the GIF must have 1 frame, found {len(frames)}")
    return frames[0]


@host("DecodePng")
def decode_png(contents, *, channels, dtype):
    data = _content(contents)
    _reject_formats(data, "BMP")
    return _decode_single_frame(data, channels, dtype.numpy)


@host("DecodeGif")
def decode_gif(contents):
    data = _content(contents)
    _reject_formats(data, "BMP")
    picture = _decode(data, 3, animated=True)
    return picture if picture.ndim == 4 else picture[None]


@host("DecodeBmp")
def decode_bmp(contents, *, channels):
    data = _content(contents)
    _reject_formats(data, "JPEG", "PNG", "GIF")
    return _decode_single_frame(data, channels, np.uint8)


@host("DecodeWebP")
def decode_webp(contents, *, channels, dtype):
    data = _content(contents)
    _reject_formats(data, "BMP")
    return _decode(data, channels, dtype.numpy, animated=True)


@host("DecodeImage")
def decode_image(contents, *, channels, dtype, expand_animations):
    return _decode(_content(contents), channels, dtype.numpy, animated=expand_animations)


@host("ExtractJpegShape")
def extract_jpeg_shape(contents, *, output_type):
    data = _content(contents)
    if not data.startswith(b"\xff\xd8"):
        raise RunFailed("contents is not a JPEG file")
    head = _jpeg.header(data)
    return np.array([head.height, head.width, len(head.components)])


def _bmp(data: bytes, channels: int) -> Any:
    if channels == 1 or len(data) < 32:
        raise RunFailed(
            "a BMP must have at least 32 bytes and cannot be decoded to 1 channel, "
            f"found {len(data)} bytes and channels {channels}"
        )
    start, width, height, bits = (
        struct.unpack_from("<i", data, 10)[0],
        *struct.unpack_from("<ii", data, 18),
        struct.unpack_from("<h", data, 28)[0],
    )
    count = bits // 8
    row = (count * width + 3) // 4 * 4
    if (
        count not in (1, 3, 4)
        or width <= 0
        or height == 0
        or start < 0
        or width * abs(height) >= (2**31 - 1) // 8
    ):
        raise RunFailed(f"the BMP has an invalid header: {width} x {height} pixels of {bits} bits")
    if len(data) - start != row * abs(height):
        raise RunFailed(f"the BMP must have {start + row * abs(height)} bytes, found {len(data)}")
    reserve_memory(width * abs(height) * (channels or count), width * abs(height) * 3)
    rows = np.frombuffer(data, np.uint8, row * abs(height), start).reshape(-1, row)[:, : width * count]
    pixels = rows.reshape(abs(height), width, count)
    if height > 0:
        pixels = pixels[::-1]
    if count > 1:
        pixels = pixels[..., [2, 1, 0, 3][:count]]
    return _bmp_channels(pixels, channels or count)


def _bmp_channels(pixels: Any, wanted: int) -> Any:
    count = pixels.shape[-1]
    if count == 1 and wanted >= 3:
        pixels = np.repeat(pixels, 3, -1)
    if wanted == 4 and pixels.shape[-1] == 3:
        return np.concatenate([pixels, np.full((*pixels.shape[:2], 1), 255, np.uint8)], -1)
    return pixels[..., :wanted]


def _webp(data: bytes, channels: int, dtype: Any, animated: bool) -> Any:
    """Decode a WebP file; the result has a frame axis if `animated`, also for one frame."""
    from PIL import Image

    if dtype != np.uint8:
        raise RunFailed(f"a WebP can be decoded to uint8 only, found {np.dtype(dtype)}")
    try:
        with Image.open(io.BytesIO(data), formats=["WEBP"]) as image:
            count = getattr(image, "n_frames", 1)
            mode = "RGBA" if count > 1 else image.mode
            if channels not in (0, len(mode)):
                raise RunFailed(f"the WebP has {len(mode)} channels, but channels is {channels}")
            if image.width * image.height * count * len(mode) >= 1 << 31:
                raise RunFailed(f"the WebP is too large: {count} frames of {image.width} x {image.height}")
            pixels, decoded = image.width * image.height, count if animated else 1
            # the frames are joined at the end; one takes 20 bytes for each pixel, as measured
            reserve_memory(pixels * len(mode) * decoded, pixels * (len(mode) * (decoded - 1) + 20))
            frames = []
            for i in range(decoded):
                image.seek(i)
                frames.append(np.asarray(image.convert(mode)))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise RunFailed(f"the WebP cannot be decoded: {error}") from None
    return np.stack(frames) if animated else frames[0]
