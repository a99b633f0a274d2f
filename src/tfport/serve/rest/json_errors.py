"""Find out why a JSON value is not a tensor, with TensorFlow Serving's error messages.

The value is visited in the same order as in TensorFlow Serving, up to the first error. Only rejected
requests get here. Of long lists, blocks of items that can be read are skipped: visiting each element takes
fifty times as long as reading it, and clients choose how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from tfport.graph.dtypes import DType
from tfport.graph.model import Signature
from tfport.serve.rest.parse import excerpt, json_type
from tfport.serve.rest.tensors import MOST_AXES, NotATensor, array_of, decoded, is_object, readable, shape_of
from tfport.serve.status import StatusCode, StatusError, invalid_argument

BLOCK = 1024
"""Items that are read together."""
_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def dtype_name(dtype: DType) -> str:
    """Return TensorFlow's name for a type in messages."""
    return _NAMES.get(dtype.name, dtype.name)


def raise_value_error(value: object, dtype: DType) -> None:
    """Raise the error of a value that should be a tensor; return if it has none."""
    shape = shape_of(value)
    if len(shape) > MOST_AXES:
        raise invalid_argument(f"JSON Value: {excerpt(value)} has more than {MOST_AXES} levels of lists")
    _walk(value, 0, shape, dtype)


def raise_rows_error(rows: list[Any], signature: Signature, read: Callable[[list[Any]], object]) -> None:
    """Raise the first error of the rows of `instances`; return if they have none.

    `read` reads some of them, and raises if they are not tensors.
    """
    objects = is_object(rows[0])
    shapes: dict[str, list[int]] = {}
    # each block is read with the first row, which decides about the shapes
    start = _first_wrong_block(rows, lambda items: read([rows[0], *items]))
    for number, row in [(0, rows[0]), *enumerate(rows[start:], start)] if start else enumerate(rows):
        if objects != is_object(row):
            kinds = ("object", "list") if objects else ("value/list", "object")
            raise invalid_argument(f"Expecting {kinds[0]} but got {kinds[1]} at item {number} of input list")
        for name, value in row.items() if objects else [(next(iter(signature.inputs)), row)]:
            try:
                _raise_item_error(name, value, signature, shapes)
            except StatusError as error:
                raise _row_error(number, error, name if objects else None) from None
        if objects and not has_names(row, signature):
            raise invalid_argument(
                f"Failed to process element: {number} of 'instances' list. JSON object: {excerpt(row)} "
                f"keys must be equal to: {','.join(sorted(signature.inputs))}"
            )


def has_names(names: Collection[str], signature: Signature) -> bool:
    """Whether these are inputs of a signature, and only inputs with a default are missing."""
    missing = set(signature.inputs) - set(names)
    return set(names) <= set(signature.inputs) and missing <= set(signature.defaults)


def _raise_item_error(name: str, value: object, signature: Signature, shapes: dict[str, list[int]]) -> None:
    """Raise the error of one input of one row; `shapes` are those of the rows before."""
    if name not in signature.inputs:
        raise invalid_argument(f"JSON object: does not have named input: {name}")
    raise_value_error(value, signature.inputs[name].dtype)
    _check_same_shape(shapes.setdefault(name, shape_of(value)), shape_of(value))


def _row_error(number: int, error: StatusError, key: str | None) -> StatusError:
    """Add the row of `instances` to an error."""
    where = f"{number} key: {key}" if key is not None else f"{number}"
    return invalid_argument(
        f"Failed to process element: {where} of 'instances' list. Error: {error.code.name}: {error.message}"
    )


def _check_same_shape(first: list[int], shape: list[int]) -> None:
    if first == shape:
        return
    sizes = int(np.prod(first)), int(np.prod(shape))
    if sizes[0] != sizes[1]:
        raise invalid_argument(f"Expecting tensor size: {sizes[0]} but got: {sizes[1]}")
    shapes = [f"[{','.join(map(str, dims))}]" for dims in (first, shape)]
    raise invalid_argument(f"Expecting shape {shapes[0]} but got: {shapes[1]}")


def _walk(value: object, level: int, shape: Sequence[int], dtype: DType) -> None:
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid_argument(
                f"JSON Value: {excerpt(value)} found at incorrect level: {level + 1} in the JSON DOM. "
                f"Expected at level: {len(shape)}"
            )
        _element(value, dtype)
        return
    if level >= len(shape):
        raise invalid_argument(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(value) != shape[level]:
        raise invalid_argument(
            f"Encountered list at unexpected size: {len(value)} at level: {level} "
            f"expected size: {shape[level]}"
        )
    start = _first_wrong_block(value, lambda items: _read_items(items, shape[level + 1 :], dtype))
    for item in value[start:]:
        _walk(item, level + 1, shape, dtype)


def _first_wrong_block(items: list[Any], read: Callable[[list[Any]], object]) -> int:
    """Return the start of the first block that cannot be read; 0 for a short list, or if all can."""
    if len(items) <= BLOCK:
        return 0
    for start in range(0, len(items), BLOCK):
        try:
            read(items[start : start + BLOCK])
        except (NotATensor, StatusError):
            return start
    return 0


def _read_items(items: list[Any], shape: Sequence[int], dtype: DType) -> None:
    if array_of(items, dtype, plain=False).shape[1:] != tuple(shape):
        raise NotATensor


def _element(value: object, dtype: DType) -> None:
    if isinstance(value, dict) and dtype.name == "string":
        try:
            decoded(value)
        except NotATensor:
            raise invalid_argument(
                f"JSON Value: {excerpt(value)} not formatted correctly for base64 data"
            ) from None
        return
    if not isinstance(value, dict) and not readable(dtype):
        raise StatusError(
            StatusCode.UNIMPLEMENTED,
            f"Conversion of JSON Value: {excerpt(value)} to type: {dtype_name(dtype)}",
        )
    if not _fits(value, dtype):
        raise invalid_argument(
            f"JSON Value: {excerpt(value)} Type: {json_type(value)} "
            f"is not of expected type: {dtype_name(dtype)}"
        )


def _fits(value: object, dtype: DType) -> bool:
    if dtype.name == "string":
        return isinstance(value, str)
    if dtype.name == "bool" or isinstance(value, bool):
        return dtype.name == "bool" and isinstance(value, bool)
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy)
        return isinstance(value, int) and limits.min <= value <= limits.max
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**1024)
