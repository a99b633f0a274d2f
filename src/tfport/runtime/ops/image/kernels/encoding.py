"""Encoders of JPEG and PNG files, with the same bytes as TensorFlow."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.image import png

_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_UNITS = {"in": 1, "cm": 2}


def _check_channels(image: Any, format: str) -> Any:
    if image.ndim != 3 or 0 in image.shape:
        raise RunFailed(f"image must have 3 axes and not be empty, found shape {list(image.shape)}")
    wanted = {"": image.shape[2], "grayscale": 1, "rgb": 3}[format]
    if image.shape[2] != wanted or wanted not in (1, 3):
        raise RunFailed(
            f"an image of {image.shape[2]} channels cannot be encoded as a JPEG "
            f"of format {format or 'rgb or grayscale'}"
        )
    return image


def _jpeg(image: Any, quality: int, density: tuple[int, int, int], xmp: bytes = b"", **options: Any) -> bytes:
    from PIL import Image

    if not 0 <= quality <= 100:
        raise RunFailed(f"quality must be between 0 and 100, found {quality}")
    if max(image.shape[:2]) >= 65536:
        raise RunFailed(
            f"a JPEG must be smaller than 65536 x 65536, found {image.shape[1]} x {image.shape[0]}"
        )
    picture = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
    out = io.BytesIO()
    if image.shape[2] == 1:
        options.pop("subsampling")
    # for Pillow, quality 0 means the default; libjpeg treats 0 as 1
    picture.save(out, "JPEG", quality=max(quality, 1), dpi=(1, 1), **options)
    data = bytearray(out.getvalue())
    struct.pack_into(">BHH", data, 13, *density)
    extra = b"" if not xmp else b"\xff\xe1" + struct.pack(">H", 2 + len(_XMP) + len(xmp)) + _XMP + xmp
    return bytes(data[:20] + extra + data[20:])


@host("EncodeJpeg")
def encode_jpeg(
    image,
    *,
    format,
    quality,
    progressive,
    optimize_size,
    chroma_downsampling,
    density_unit,
    x_density,
    y_density,
    xmp_metadata,
):
    return _jpeg(
        _check_channels(image, format),
        quality,
        (_UNITS[density_unit], x_density, y_density),
        xmp_metadata.encode("latin-1") if isinstance(xmp_metadata, str) else xmp_metadata,
        progressive=progressive,
        optimize=optimize_size,
        subsampling=2 if chroma_downsampling else 0,
    )


@host("EncodeJpegVariableQuality")
def encode_jpeg_variable_quality(images, quality):
    if quality.ndim:
        raise RunFailed(f"quality must be a scalar, found shape {list(quality.shape)}")
    return _jpeg(_check_channels(images, ""), int(quality), (1, 300, 300), subsampling=2)


@host("EncodePng")
def encode_png(image, *, compression):
    if image.ndim < 3 or 0 in image.shape or image.shape[-1] not in (1, 2, 3, 4):
        raise RunFailed(f"image must have 1 to 4 channels and not be empty, found shape {list(image.shape)}")
    if not -1 <= compression <= 9:
        raise RunFailed(f"compression must be between -1 and 9, found {compression}")
    height, width, count = image.shape[-3:]
    images = image.reshape(-1, height, width, count)
    out = np.empty(image.shape[:-3], object)
    out.reshape(-1)[:] = [png.encode(pixels, compression) for pixels in images]
    return out
