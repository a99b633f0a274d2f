"""AsString formats like C's printf, StringFormat prints tensors like TensorFlow, StringToNumber parses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import reserve_memory
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import attr_bytes
from tfport.runtime.ops.strings.number_parsing import numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray


TEXT, PRINTING = 96, 240
"""Bytes for a number as text, and until it has been joined with others."""
_FILLS = ("", "0", "-", "+", " ", "#")
_ESCAPES = {**{i: b"\\%03o" % i for i in (*range(32), 127)}, 9: b"\\t", 10: b"\\n", 13: b"\\r"}
_ESCAPES |= {ord(c): b"\\" + c.encode() for c in "\"'\\"}


@host("AsString")
def as_string(input, *, precision, scientific, shortest, width, fill):
    if fill not in _FILLS:
        raise RunFailed(f"fill must be empty or one of `0`, `-`, `+`, ` `, `#`, found `{fill}`")
    kind = "s" if input.dtype == object else input.dtype.kind if input.dtype.kind in "biufc" else "f"
    if scientific and shortest:
        raise RunFailed("scientific and shortest must not both be true")
    if kind in "biu" and (scientific or shortest or precision >= 0):
        raise RunFailed(f"precision, scientific and shortest are unsupported for {input.dtype}")
    flat = input.reshape(-1)
    reserve_memory(flat.size * (TEXT + max(width, precision, 0)))
    if kind == "b":
        return string_array([b"true" if value else b"false" for value in flat.tolist()], input.shape)
    size = b"%d" % width if width > 0 else b""
    digits = b".%d" % precision if precision >= 0 else b""
    if kind == "s":
        pattern = b"%" + (b"-" if fill == "-" else b"") + size + b"b"
    elif kind in "iu":
        flag = "" if fill == "#" or (kind == "u" and fill in "+ ") else fill
        pattern = b"%" + flag.encode() + size + b"d"
    else:
        pattern = size + digits + (b"e" if scientific else b"g" if shortest else b"f")
        return string_array(_floats(flat, pattern, fill.encode()), input.shape)
    return string_array([pattern % value for value in flat.tolist()], input.shape)


def _flushed(flat: NDArray[Any]) -> NDArray[Any]:
    """Replace denormal numbers by zeros, as TensorFlow's kernels do."""
    return np.where(np.abs(flat) < np.finfo(flat.dtype).tiny, flat * flat.dtype.type(0), flat)


def _floats(flat: NDArray[Any], pattern: bytes, flag: bytes) -> list[bytes]:
    finite, other = b"%" + flag + pattern, b"%" + (b"" if flag == b"0" else flag) + pattern
    if flat.dtype.kind == "c":
        pairs = zip(_flushed(flat.real).tolist(), _flushed(flat.imag).tolist(), strict=True)
        return [b"(" + _float(a, finite, other) + b"," + _float(b, finite, other) + b")" for a, b in pairs]
    wide = flat if flat.dtype == np.float64 else flat.astype(np.float32)
    return [_float(value, finite, other) for value in _flushed(wide).tolist()]


def _float(value: float, finite: bytes, other: bytes) -> bytes:
    """Format like C: infinities and NaN are padded with spaces, never with zeros, and NaN has a sign."""
    if -math.inf < value < math.inf:
        return finite % value
    if value != value and math.copysign(1, value) < 0:
        return (other % -math.inf).replace(b"inf", b"nan")
    return other % value


@host("StringFormat")
def string_format(inputs, *, template, placeholder, summarize):
    parts = attr_bytes(template).split(attr_bytes(placeholder)) if placeholder else [attr_bytes(template)]
    if len(parts) - 1 != len(inputs):
        raise RunFailed(
            f"template must have one placeholder per input ({len(inputs)}), found {len(parts) - 1}"
        )
    pieces = [parts[0]]
    for array, part in zip(inputs, parts[1:], strict=True):
        pieces += (printed(array, summarize), part)
    return b"".join(pieces)


def printed(array: NDArray[Any], ends: int) -> bytes:
    """A tensor as TensorFlow prints it: `ends` elements at both ends of each axis, all if negative."""
    ends = array.size if ends < 0 else min(ends, array.size)
    reserve_memory(0, PRINTING * prod(min(size, 2 * ends) for size in array.shape))
    element = _element(array.dtype)
    out: list[bytes] = []
    _print_axis(array, 0, array.shape, ends, element, out)
    return b"".join(out)


def _print_axis(
    array: NDArray[Any],
    axis: int,
    shape: Sequence[int],
    ends: int,
    element: Callable[[Any], bytes],
    out: list[bytes],
) -> None:
    if axis == len(shape):
        out.append(element(array.tolist() if array.dtype != object else array[()]))
        return
    space = b" " if axis == len(shape) - 1 else b"\n" * (len(shape) - axis - 1) + b" " * (axis + 1)
    count = shape[axis]
    out.append(b"[")
    for i in range(min(ends, count)):
        out += [space] if i else []
        _print_axis(array[i, ...], axis + 1, shape, ends, element, out)
    if count > 2 * ends:
        out += (space, b"...")
    for i in range(max(ends, count - ends), count):
        out.append(space)
        _print_axis(array[i, ...], axis + 1, shape, ends, element, out)
    out.append(b"]")


def _element(dtype: np.dtype[Any]) -> Callable[[Any], bytes]:
    if dtype.kind == "O":
        return lambda text: b'"' + b"".join(_ESCAPES.get(c) or bytes([c]) for c in text) + b'"'
    if dtype.kind in "biu":
        return lambda value: b"%d" % value
    if dtype == np.float64:
        return lambda value: _shortest(value, 15, 17, float, float(np.finfo(np.float64).tiny))
    if dtype.kind == "f" or dtype.name == "bfloat16":
        return lambda value: _shortest(float(value), 6, 9, _float32, float(np.finfo(np.float32).tiny))
    return lambda value: b"?"


def _float32(text: bytes) -> float:
    return float(np.float32(float(text)))


def _shortest(value: float, few: int, many: int, parse: Callable[[bytes], float], tiny: float) -> bytes:
    """The number with `few` digits if that parses back to it, else with `many`."""
    if 0 < abs(value) < tiny:  # TensorFlow's kernels flush denormal numbers to zero
        value = 0.0 * value
    if value != value:
        return b"-nan" if math.copysign(1, value) < 0 else b"nan"
    short = b"%.*g" % (few, value)
    return short if parse(short) == value else b"%.*g" % (many, value)


@host("StringToNumber")
def string_to_number(string_tensor, *, out_type):
    return numbers(string_tensor.reshape(-1).tolist(), out_type.numpy).reshape(string_tensor.shape)
