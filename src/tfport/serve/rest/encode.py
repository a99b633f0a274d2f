"""Encode named arrays as the JSON of a response, in rows or columns like the request.

`orjson` prints arrays directly from memory, each number with the fewest digits that restore it. It writes
null for NaN and infinities, and for no other number; these are then replaced with what TensorFlow Serving
prints. Commas, spaces and lines of rows are those of TensorFlow Serving; its columns have a line for each
number, ours do not. Strings of outputs whose name ends in `_bytes` are written as base64.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from tfport.graph.dtypes import DType
from tfport.graph.model import TensorSpec
from tfport.serve.rest.decode import TensorLayout
from tfport.serve.rest.json_errors import dtype_name
from tfport.serve.rest.tensors import readable
from tfport.serve.status import invalid_argument

if TYPE_CHECKING:
    from numpy.typing import NDArray

BYTES_SUFFIX = "_bytes"
SEPARATOR = b", "
"""Between the elements of an array."""
SLICE = 2**16
"""Elements to print at a time: some milliseconds, during which the event loop must wait."""
_NUMPY = orjson.OPT_SERIALIZE_NUMPY
_ROWS_KEY, _COLUMNS_KEY = TensorLayout.ROWS.value.encode(), TensorLayout.COLUMNS.value.encode()


def encode(outputs: Mapping[str, Any], specs: Mapping[str, TensorSpec], layout: TensorLayout) -> bytes:
    """Return the body of a response."""
    if not outputs:
        raise invalid_argument("Cannot convert empty tensor map to JSON")
    arrays = {name: _array(value, specs[name].dtype) for name, value in outputs.items()}
    body = _rows(arrays) if layout is TensorLayout.ROWS else _columns(arrays)
    key = _ROWS_KEY if layout is TensorLayout.ROWS else _COLUMNS_KEY
    return b'{\n    "%s": %s\n}' % (key, body)


def _array(value: Any, dtype: DType) -> NDArray[Any]:
    if isinstance(value, tuple) or not readable(dtype):  # a tuple: components of a sparse or ragged tensor
        raise invalid_argument(
            f"Failed to write JSON value for tensor type: {dtype_name(dtype)}"
            + (" in several parts" if isinstance(value, tuple) else ""),
        )
    array = np.asarray(value)
    return array.astype(np.float32) if dtype.name == "bfloat16" else array


def _columns(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    if len(arrays) == 1:
        ((name, array),) = arrays.items()
        return printed(array, name)
    pairs = (b"%s: %s" % (orjson.dumps(name), printed(array, name)) for name, array in arrays.items())
    return b"{\n        %s\n    }" % b",\n        ".join(pairs)


def _rows(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    batch = -1
    for name, array in arrays.items():
        if not array.ndim:
            raise invalid_argument(f"Tensor name: {name} has no shape information ")
        if batch not in (-1, len(array)):
            raise invalid_argument(
                f"Tensor name: {name} has inconsistent batch size: {len(array)} expecting: {batch}",
            )
        batch = len(array)
    if not batch:
        return b"[]"
    if len(arrays) == 1:
        ((name, array),) = arrays.items()
        return printed(array, name)[:-1] + b"\n    ]"
    row = b"\n        {\n            " + b",\n            ".join(
        orjson.dumps(name).replace(b"%", b"%%") + b": %b" for name in arrays
    )
    columns = [_cells(array, name) for name, array in arrays.items()]
    rows = b"\n        },".join(row % cells for cells in zip(*columns, strict=True))
    return b"[%s\n        }\n    ]" % rows


def _cells(array: NDArray[Any], name: str) -> list[bytes]:
    """Print each row of an array."""
    if array.ndim == 1 and len(array) and array.dtype.kind not in "OSU":
        return [cell for part in _slices(array, SLICE) for cell in printed(part)[1:-1].split(SEPARATOR)]
    return [printed(row, name) for row in array]


def printed(array: Any, name: str = "") -> bytes:
    """Print an array as nested lists, a scalar as itself."""
    is_text = isinstance(array, bytes | str)
    if not is_text and array.size > SLICE:
        return _printed_in_slices(array, name)
    if is_text or array.dtype.kind in "OSU":
        return _strings(np.asarray(array, object), name.endswith(BYTES_SUFFIX))
    values = np.ascontiguousarray(array) if array.ndim else array[()]
    text = orjson.dumps(values, option=_NUMPY).replace(b",", SEPARATOR)
    return _with_literals(text, values) if b"null" in text else text


def _printed_in_slices(array: NDArray[Any], name: str) -> bytes:
    rows = SLICE * len(array) // array.size
    parts = (
        (printed(part, name)[1:-1] for part in _slices(array, rows))
        if rows
        else (printed(row, name) for row in array)
    )
    return b"[%s]" % SEPARATOR.join(parts)


def _slices(array: NDArray[Any], rows: int) -> Iterator[NDArray[Any]]:
    return (array[begin : begin + rows] for begin in range(0, len(array), rows))


def _with_literals(text: bytes, values: NDArray[Any]) -> bytes:
    """Replace null with NaN and infinities."""
    flat = np.ravel(values)
    pieces = text.split(b"null")
    out = [pieces[0]]
    for value, piece in zip(flat[~np.isfinite(flat)].tolist(), pieces[1:], strict=True):
        out.append(b"NaN" if value != value else b"Infinity" if value > 0 else b"-Infinity")
        out.append(piece)
    return b"".join(out)


def _strings(array: NDArray[Any], as_bytes: bool) -> bytes:
    flat = [item.encode() if isinstance(item, str) else item for item in array.ravel().tolist()]
    if as_bytes:
        return _nested([b'{"b64": "%s"}' % base64.b64encode(item) for item in flat], array.shape)
    try:
        return _nested([orjson.dumps(item.decode()) for item in flat], array.shape)
    except UnicodeDecodeError:  # bytes that are not UTF-8 are written unchanged, as in TensorFlow Serving
        out = np.empty(len(flat), object)
        out[:] = [item.decode("utf-8", "surrogateescape") for item in flat]
        text = json.dumps(out.reshape(array.shape).tolist(), ensure_ascii=False)
        return text.encode("utf-8", "surrogateescape")


def _nested(texts: list[bytes], shape: Sequence[int]) -> bytes:
    """Join the texts of elements as nested lists."""
    for size in reversed(shape):
        count = len(texts) // size if size else math.prod(shape[: shape.index(0)])
        texts = [b"[%s]" % SEPARATOR.join(texts[i * size : (i + 1) * size]) for i in range(count)]
    return texts[0]


def error_body(message: str) -> bytes:
    """Return the body of an error response."""
    text = message.encode("utf-8", "replace").decode()
    return b'{\n    "error": %s\n}' % orjson.dumps(text)
