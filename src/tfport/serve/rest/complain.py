"""Why a JSON value is no tensor, in TensorFlow Serving's words.

It walks the value as TensorFlow Serving does and stops at the first thing that is wrong. Only requests
that are refused come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.graph.dtypes import DType
from tfport.serve.rest.show import shown, type_shown
from tfport.serve.rest.tensor import MOST_AXES, NotThis, decoded, readable, shape_of
from tfport.serve.status import Code, Refused

_SAID = {"float32": "float", "float64": "double", "float16": "half"}


def told(dtype: DType) -> str:
    """What TensorFlow calls a type in messages."""
    return _SAID.get(dtype.name, dtype.name)


def complain(value: object, dtype: DType) -> None:
    """Raise what is wrong with a value that should be a tensor; return if nothing is."""
    shape = shape_of(value)
    if len(shape) > MOST_AXES:
        raise _invalid(f"JSON Value: {shown(value)} has more than {MOST_AXES} levels of lists")
    _walk(value, 0, shape, dtype)


def complain_rows(rows: Sequence[Any], dtype: DType) -> None:
    """The same for rows that should be tensors of one shape; the row is named."""
    first: list[int] | None = None
    for number, row in enumerate(rows):
        try:
            complain(row, dtype)
            first = _same_shape(first, shape_of(row))
        except Refused as error:
            raise in_row(number, error) from None


def in_row(number: int, error: Refused, key: str | None = None) -> Refused:
    """A refusal, and the row of `instances` that it is about."""
    where = f"{number} key: {key}" if key is not None else f"{number}"
    return _invalid(
        f"Failed to process element: {where} of 'instances' list. Error: {error.code.name}: {error.message}"
    )


def _same_shape(first: list[int] | None, shape: list[int]) -> list[int]:
    if first is None or first == shape:
        return shape
    sizes = int(np.prod(first)), int(np.prod(shape))
    if sizes[0] != sizes[1]:
        raise _invalid(f"Expecting tensor size: {sizes[0]} but got: {sizes[1]}")
    shapes = [f"[{','.join(map(str, one))}]" for one in (first, shape)]
    raise _invalid(f"Expecting shape {shapes[0]} but got: {shapes[1]}")


def _walk(value: object, level: int, shape: Sequence[int], dtype: DType) -> None:
    if not isinstance(value, list):
        if level != len(shape):
            raise _invalid(
                f"JSON Value: {shown(value)} found at incorrect level: {level + 1} in the JSON DOM. "
                f"Expected at level: {len(shape)}"
            )
        _element(value, dtype)
        return
    if level >= len(shape):
        raise _invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(value) != shape[level]:
        raise _invalid(
            f"Encountered list at unexpected size: {len(value)} at level: {level} "
            f"expected size: {shape[level]}"
        )
    for item in value:
        _walk(item, level + 1, shape, dtype)


def _element(value: object, dtype: DType) -> None:
    if isinstance(value, dict) and dtype.name == "string":
        try:
            decoded(value)
        except NotThis:
            raise _invalid(f"JSON Value: {shown(value)} not formatted correctly for base64 data") from None
        return
    if not isinstance(value, dict) and not readable(dtype):
        raise Refused(Code.UNIMPLEMENTED, f"Conversion of JSON Value: {shown(value)} to type: {told(dtype)}")
    if not _fits(value, dtype):
        raise _invalid(
            f"JSON Value: {shown(value)} Type: {type_shown(value)} is not of expected type: {told(dtype)}"
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


def _invalid(message: str) -> Refused:
    return Refused(Code.INVALID_ARGUMENT, message)
