"""Convert a JSON value to an array of a signature's type.

Lists are flattened level by level and packed in one step, without Python code per element. `struct` is
stricter than numpy: it accepts no text, no null, and no fraction for an integer. For values that it
rejects, `json_errors` finds the error message.
"""

from __future__ import annotations

import binascii
import math
import struct
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.graph.dtypes import DType
from tfport.serve.status import invalid_argument

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_AXES = 32
# `struct` format character of each type, and the NumPy type of what it packs
_PACKED = {
    name: (code, np.dtype(f"={code}"))
    for name, code in (
        row.split()
        for row in """float32 f|float64 d|float16 f|bfloat16 f|int8 b|int16 h|int32 i|int64 q
                      uint8 B|uint32 I|uint64 Q""".replace("\n", "|").split("|")
    )
}
B64 = "b64"


class NotATensor(Exception):
    """The value is not a tensor of this type; `raise_value_error` finds out why."""


def readable(dtype: DType) -> bool:
    """Whether values of this type can be written in JSON."""
    return dtype.name in _PACKED or dtype.name in ("bool", "string")


def array_of(value: object, dtype: DType, plain: bool) -> NDArray[Any]:
    """Return a scalar or nested lists as an array; `plain` means that there are no booleans."""
    shape = shape_of(value)
    if len(shape) > MOST_AXES or not readable(dtype):
        raise NotATensor
    flat = _flattened(value, shape, strict=dtype.name not in _PACKED) if shape else [value]
    if len(flat) != math.prod(shape):
        raise NotATensor
    return _packed(flat, dtype, plain).reshape(shape)


def shape_of(value: object) -> list[int]:
    """Return the shape according to the first elements."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return shape


def _flattened(value: Any, shape: Sequence[int], strict: bool) -> list[Any]:
    """Return the elements, if the lists of each level have the same length.

    Text and objects have a length too, and yield characters and keys. Those are not numbers and fail
    later, so only types that accept text, and empty lists, need a check for lists here.
    """
    for size in shape[1:]:
        if len(value) == 1:  # the shape was read from it
            value = value[0]
            continue
        if (strict or not size) and set(map(type, value)) != {list}:
            raise NotATensor
        try:
            if set(map(len, value)) != {size}:
                raise NotATensor
        except TypeError:  # a scalar instead of a list
            raise NotATensor from None
        value = list(chain.from_iterable(value))
    return value  # type: ignore[no-any-return]


def _packed(flat: list[Any], dtype: DType, plain: bool) -> NDArray[Any]:
    if dtype.name == "string":
        return _strings(flat)
    if dtype.name == "bool":
        if not set(map(type, flat)) <= {bool}:
            raise NotATensor
        return np.array(flat, np.bool_)
    if not plain and bool in set(map(type, flat)):
        raise NotATensor
    code, kind = _PACKED[dtype.name]
    try:
        packed = np.frombuffer(struct.pack(f"={len(flat)}{code}", *flat), kind)
    except struct.error:
        raise NotATensor from None
    except OverflowError:  # larger than the largest float: infinity
        packed = _wide(flat)
    if packed.dtype == dtype.numpy:
        return packed
    with np.errstate(over="ignore"):
        return packed.astype(dtype.numpy)


def _wide(flat: list[Any]) -> NDArray[Any]:
    try:
        return np.frombuffer(struct.pack(f"={len(flat)}d", *flat), np.float64)
    except (struct.error, OverflowError):
        raise NotATensor from None


def _strings(flat: list[Any]) -> NDArray[Any]:
    out = np.empty(len(flat), object)
    if set(map(type, flat)) <= {str}:
        out[:] = [text_bytes(text) for text in flat]
    else:
        out[:] = [text_bytes(item) if isinstance(item, str) else decoded(item) for item in flat]
    return out


def text_bytes(text: str) -> bytes:
    """Return a string as the bytes in the request."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise invalid_argument("JSON Parse error: The surrogate pair in string is invalid.") from None


def is_base64(value: object) -> bool:
    """Whether a value is an object `{"b64": "…"}`."""
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get(B64), str)


def is_object(value: object) -> bool:
    """Whether a value is an object, and not bytes in base64."""
    return isinstance(value, dict) and not is_base64(value)


def decoded(value: object) -> bytes:
    """Return the bytes of `{"b64": "…"}`; spaces and missing padding are accepted."""
    if not isinstance(value, dict) or not is_base64(value):
        raise NotATensor
    try:
        text = "".join(value[B64].split())
        return binascii.a2b_base64(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), strict_mode=True)
    except (ValueError, UnicodeEncodeError):
        raise invalid_argument("Unable to base64 decode") from None
