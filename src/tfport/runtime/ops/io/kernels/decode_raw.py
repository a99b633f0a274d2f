"""Decoding of bytes: base64, raw numbers, compressed streams."""

from __future__ import annotations

import base64
import re
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import memory_left, reserve_memory
from tfport.runtime.lower import host
from tfport.runtime.ops.io.unpacked_sizes import inflated, most_unpacked
from tfport.runtime.ops.strings.byte_strings import map_strings, printable, scalar_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BASE64 = re.compile(rb"[A-Za-z0-9_-]*").fullmatch


@host("EncodeBase64")
def encode_base64(input, *, pad):
    if pad:
        return map_strings(input, base64.urlsafe_b64encode)
    return map_strings(input, lambda text: base64.urlsafe_b64encode(text).rstrip(b"="))


@host("DecodeBase64")
def decode_base64(input):
    return map_strings(input, _from_base64)


def _from_base64(text: bytes) -> bytes:
    bare = text
    if len(text) % 4 == 0:
        bare = text[:-2] if text.endswith(b"==") else text.removesuffix(b"=")
    if len(bare) % 4 == 1 or not _BASE64(bare):
        raise RunFailed(f"`{printable(text)}` is not valid base64 (URL-safe alphabet)")
    return base64.urlsafe_b64decode(bare + b"=" * (-len(bare) % 4))


@host("DecodeRaw")
def decode_raw(bytes, *, out_type, little_endian):
    flat = bytes.reshape(-1).tolist()
    size = len(flat[0]) if flat else 0
    if any(len(text) != size for text in flat):
        raise RunFailed("all strings must have the same length")
    width = out_type.numpy.itemsize
    if size % width:
        raise RunFailed(
            f"the length must be a multiple of the size of {out_type}, {width} bytes, found {size}"
        )
    return _numbers(b"".join(flat), out_type.numpy, little_endian, (*bytes.shape, size // width))


@host("DecodePaddedRaw")
def decode_padded_raw(input_bytes, fixed_length, *, out_type, little_endian):
    size, width = int(scalar_value(fixed_length, "fixed_length")), out_type.numpy.itemsize
    if size <= 0:
        raise RunFailed(f"fixed_length must be positive, found {size}")
    if size % width:
        raise RunFailed(
            f"the length must be a multiple of the size of {out_type}, {width} bytes, found {size}"
        )
    whole = input_bytes.size * size
    reserve_memory(whole, 2 * whole)
    padded = [text[:size].ljust(size, b"\0") for text in input_bytes.reshape(-1).tolist()]
    return _numbers(b"".join(padded), out_type.numpy, little_endian, (*input_bytes.shape, size // width))


def _numbers(data: bytes, dtype: np.dtype[Any], little_endian: bool, shape: tuple[int, ...]) -> NDArray[Any]:
    if dtype.kind == "b":
        return np.frombuffer(data, np.uint8).astype(bool).reshape(shape)
    # bytes of complex numbers are swapped per part; ml_dtypes supports only the native byte order
    width = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
    order = "<" if little_endian else ">"
    words = np.frombuffer(data, f"{order}u{width}").astype(f"=u{width}")
    return words.view(dtype).reshape(shape)


@host("DecodeCompressed")
def decode_compressed(bytes, *, compression_type):
    if compression_type == "":
        return bytes
    if compression_type == "ZSTD":
        return map_strings(bytes, _decompress_zstd)
    if compression_type not in ("ZLIB", "GZIP"):
        raise RunFailed(f"compression_type must be ZLIB, GZIP, ZSTD or empty, found {compression_type}")
    window = zlib.MAX_WBITS | (16 if compression_type == "GZIP" else 0)
    return map_strings(bytes, lambda data: _inflate(data, window))


def _decompress_zstd(data: bytes) -> bytes:
    import cramjam

    if memory_left() is not None:
        size = most_unpacked(data)
        reserve_memory(size, size)
    try:
        return bytes(cramjam.zstd.decompress(data))
    except cramjam.DecompressionError as error:
        raise RunFailed(f"the compressed data is invalid: {error}") from None


def _inflate(data: bytes, window: int) -> bytes:
    """Decompress all concatenated streams; a truncated one gives its available data."""
    out = []
    while data:
        stream = zlib.decompressobj(window)
        try:
            out.append(inflated(stream, data))
        except zlib.error as error:
            raise RunFailed(f"the compressed data is invalid: {error}") from None
        data = stream.unused_data
    return b"".join(out)
