"""Convert tensors of the Open Inference Protocol to arrays and back: raw bytes, JSON and typed lists.

Raw bytes are little-endian and become arrays without a copy; each BYTES element has a four-byte length in
front. In JSON, `data` may be nested or flat. Data that does not fit its datatype and shape is rejected
before memory is allocated for it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import orjson

from tfport.graph.dtypes import DType
from tfport.serve.rest.encode import SEPARATOR, printed
from tfport.serve.status import StatusCode, StatusError, invalid_argument

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

# datatype, numpy type, and the field of InferTensorContents for its elements; `-` means raw bytes only
_ROWS = """
BOOL   bool     bool_contents    | INT8  int8     int_contents    | UINT8  uint8  uint_contents
INT16  int16    int_contents     | INT32 int32    int_contents    | UINT16 uint16 uint_contents
INT64  int64    int64_contents   | FP16  float16  -               | UINT32 uint32 uint_contents
UINT64 uint64   uint64_contents  | FP32  float32  fp32_contents   | FP64   float64 fp64_contents
BYTES  object   bytes_contents   | BF16  bfloat16 -
"""
_TABLE = [row.split() for row in _ROWS.replace("|", "\n").split("\n") if row.strip()]
NUMPY: dict[str, np.dtype[Any]] = {
    name: np.dtype(getattr(ml_dtypes, kind, kind)).newbyteorder("<") for name, kind, _ in _TABLE
}
CONTENTS: dict[str, str] = {name: field for name, _, field in _TABLE if field != "-"}
_NAMES: dict[np.dtype[Any], str] = {kind: name for name, kind in NUMPY.items()}
# Python types of JSON elements for each kind of numpy type
_JSON_TYPES: dict[str, set[type]] = {
    "b": {bool},
    "i": {int},
    "u": {int},
    "f": {int, float},
    "V": {int, float},
    "O": {str},
}
MOST_AXES = 32
MOST_ELEMENTS = 2**40
_LENGTH = struct.Struct("<I")


def datatype_of(dtype: DType) -> str:
    """Return the datatype of a TensorFlow type; TensorFlow's name if the protocol does not have it."""
    try:
        return _NAMES.get(dtype.numpy, dtype.name.upper())
    except KeyError:
        return dtype.name.upper()


def kind_of(datatype: object, name: str) -> np.dtype[Any]:
    """Return the numpy type of an input's datatype."""
    if not isinstance(datatype, str) or datatype not in NUMPY:
        raise invalid_argument(f"invalid datatype for input '{name}': {str(datatype)[:40]!r}")
    return NUMPY[datatype]


def shape_of(sizes: object, name: str) -> tuple[int, ...]:
    """Validate a shape."""
    if not isinstance(sizes, Iterable) or isinstance(sizes, str | Mapping):
        raise invalid_argument(f"Unable to parse 'shape' of input '{name}': expected a list of sizes")
    shape = tuple(sizes)
    fine = all(type(size) is int and size >= 0 for size in shape)
    if not fine or len(shape) > MOST_AXES or math.prod(shape) > MOST_ELEMENTS:
        raise invalid_argument(f"invalid shape for input '{name}': {str(list(shape))[:200]}")
    return shape


def from_raw(datatype: str, shape: tuple[int, ...], raw: bytes | memoryview, name: str) -> Array:
    """Convert raw bytes."""
    kind = kind_of(datatype, name)
    if kind.hasobject:
        return _from_prefixed(shape, raw, name)
    if len(raw) != math.prod(shape) * kind.itemsize:
        raise invalid_argument(
            f"input byte size mismatch for input '{name}': "
            f"expected {math.prod(shape) * kind.itemsize}, got {len(raw)}"
        )
    if kind.kind == "b":  # normalize: a bool byte other than 0 or 1 is invalid in numpy
        return _shaped(np.frombuffer(raw, np.uint8) != 0, shape, name)
    return _shaped(np.frombuffer(raw, kind), shape, name)


def _from_prefixed(shape: tuple[int, ...], raw: bytes | memoryview, name: str) -> Array:
    count, at = math.prod(shape), 0
    texts: list[bytes] = []
    if count * _LENGTH.size <= len(raw):
        while at + _LENGTH.size <= len(raw) and len(texts) < count:
            (size,) = _LENGTH.unpack_from(raw, at)
            at += _LENGTH.size + size
            texts.append(bytes(raw[at - size : at]))
    if len(texts) != count or at != len(raw):
        raise invalid_argument(
            f"input '{name}' of shape {list(shape)}: expected {count} byte strings with their lengths"
        )
    return _shaped(_objects(texts), shape, name)


def from_json(datatype: str, shape: tuple[int, ...], data: object, name: str) -> Array:
    """Convert JSON data, nested or flat."""
    kind = kind_of(datatype, name)
    flat = _flat(data, name)
    if len(flat) != math.prod(shape):
        raise invalid_argument(f"Shape does not match true shape of 'data' field of input '{name}'")
    if not set(map(type, flat)) <= _JSON_TYPES[kind.kind]:
        raise invalid_argument(
            f"Unable to parse 'data' of input '{name}': expected elements of type {datatype}"
        )
    if kind.hasobject:
        return _shaped(_objects([text.encode("utf-8", "surrogatepass") for text in flat]), shape, name)
    return _shaped(_numbers(flat, kind, datatype, name), shape, name)


def from_contents(datatype: str, shape: tuple[int, ...], contents: Any, name: str) -> Array:
    """Convert a typed list, an InferTensorContents."""
    kind = kind_of(datatype, name)
    if datatype not in CONTENTS:
        raise invalid_argument(f"input '{name}' of type {datatype} must be in raw_input_contents")
    values: Sequence[Any] = getattr(contents, CONTENTS[datatype])
    if len(values) != math.prod(shape):
        raise invalid_argument(
            f"input '{name}' of shape {list(shape)} has {len(values)} elements in {CONTENTS[datatype]}"
        )
    if kind.hasobject:
        return _shaped(_objects(values), shape, name)
    return _shaped(_numbers(values, kind, datatype, name), shape, name)


def to_raw(array: Array) -> bytes:
    """Return the raw bytes of an array."""
    if not array.dtype.hasobject:
        return np.ascontiguousarray(array).tobytes()
    texts = [text if isinstance(text, bytes) else str(text).encode() for text in array.ravel().tolist()]
    return b"".join(chain.from_iterable((_LENGTH.pack(len(text)), text) for text in texts))


def to_json(array: Array) -> list[Any] | orjson.Fragment:
    """Return the flat elements of an array, for orjson."""
    flat = array.ravel()
    if flat.dtype.hasobject:
        try:
            return [text.decode() if isinstance(text, bytes) else str(text) for text in flat.tolist()]
        except UnicodeDecodeError:
            raise invalid_argument("an output is not UTF-8; request it as binary data") from None
    if flat.dtype == ml_dtypes.bfloat16:
        with np.errstate(invalid="ignore"):  # for signaling NaNs
            flat = flat.astype(np.float32)
    return orjson.Fragment(printed(flat).replace(SEPARATOR, b","))  # NaN, Infinity, no spaces: as Triton


def answered_datatype(name: str, array: object) -> str:
    """Return the datatype of an output; raise if the protocol cannot represent it."""
    if not isinstance(array, np.ndarray):
        raise StatusError(
            StatusCode.UNIMPLEMENTED,
            f"output '{name}' is not dense; the protocol supports dense tensors only",
        )
    if array.dtype not in _NAMES:
        raise StatusError(
            StatusCode.UNIMPLEMENTED,
            f"output '{name}' is {array.dtype}, which the protocol does not support",
        )
    return _NAMES[array.dtype]


def _flat(data: object, name: str) -> list[Any]:
    if not isinstance(data, list):
        raise invalid_argument(f"Unable to parse 'data' of input '{name}': expected a list")
    while data and isinstance(data[0], list):
        if set(map(type, data)) != {list}:
            raise invalid_argument(f"Unable to parse 'data' of input '{name}': lists and elements are mixed")
        data = list(chain.from_iterable(data))
    return data


def _numbers(values: Sequence[Any], kind: np.dtype[Any], datatype: str, name: str) -> Array:
    """Convert numbers to an array; integers out of range are rejected, not wrapped."""
    wide = {"i": np.dtype(np.int64), "u": np.dtype(np.uint64), "V": np.dtype(np.float64)}.get(kind.kind, kind)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            array = np.fromiter(values, wide, len(values))
            if kind.kind in "iu" and array.size:
                limits = np.iinfo(kind)
                if array.min() < limits.min or array.max() > limits.max:
                    raise OverflowError
            return array.astype(kind, copy=False)
    except (OverflowError, TypeError, ValueError):
        raise invalid_argument(f"input '{name}' has elements outside the range of {datatype}") from None


def _objects(texts: Sequence[bytes]) -> Array:
    out = np.empty(len(texts), object)
    out[:] = list(texts)
    return out


def _shaped(flat: Array, shape: tuple[int, ...], name: str) -> Array:
    try:
        return flat.reshape(shape)
    except ValueError:  # for example 0 times more than an array can index
        raise invalid_argument(f"invalid shape for input '{name}': {list(shape)}") from None
