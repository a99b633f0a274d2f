"""Generate strings that a model parses: Examples, lines of CSV, images and numbers as text."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.certify.inputs.arrays import Random, ValueProfile, array_of
from tfport.fix.certify.inputs.examples import ValueCounts, generated_examples, generated_sequences
from tfport.fix.certify.inputs.input_roles import CsvFields, Role
from tfport.graph.dtypes import STRING, DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_FIELD = 40


def generated_strings(
    role: Role, shape: tuple[int, ...], profile: ValueProfile, random: Random, counts: ValueCounts
) -> NDArray[Any]:
    """Strings for an input with this role; `counts` is for features with any number of values."""
    strings = _plain(role, shape, profile, random, counts)
    return _each(strings, _in_base64) if role.base64 else strings


def _in_base64(text: bytes) -> bytes:
    return base64.urlsafe_b64encode(text).rstrip(b"=")


def _plain(
    role: Role, shape: tuple[int, ...], profile: ValueProfile, random: Random, counts: ValueCounts
) -> NDArray[Any]:
    if role.examples is not None:
        return generated_examples(role.examples, shape, profile, random, counts)
    if role.sequences is not None:
        return generated_sequences(role.sequences, shape, profile, random, counts)
    if role.csv is not None:
        return _csv_lines(role.csv, shape, profile, random)
    if role.text:
        return _texts(role.text, shape, random)
    return array_of(STRING, shape, profile, random)


def _each(array: NDArray[Any], change: Callable[[bytes], bytes]) -> NDArray[Any]:
    changed = np.empty(array.size, object)
    changed[:] = [change(text) for text in array.reshape(-1).tolist()]
    return changed.reshape(array.shape)


def _texts(kind: str, shape: tuple[int, ...], random: Random) -> NDArray[Any]:
    out = np.empty(shape, object)
    for index in np.ndindex(shape):
        number = str(round(float(random.standard_normal()), 3)).encode()
        out[index] = number if kind == "number" else _image(random)
    return out


def _image(random: Random) -> bytes:
    """A small image as a PNG file."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(random.integers(0, 256, (24, 20, 3), np.uint8, endpoint=False)).save(file, "png")
    return file.getvalue()


def _csv_lines(
    fields: CsvFields, shape: tuple[int, ...], profile: ValueProfile, random: Random
) -> NDArray[Any]:
    """Lines with values of a profile, in an array of this shape."""
    flat = np.empty(math.prod(shape), object)
    flat[:] = [fields.delimiter.join(_field(dtype, profile, random) for dtype in fields.types) for _ in flat]
    return flat.reshape(shape)


def _field(dtype: DType, profile: ValueProfile, random: Random) -> bytes:
    value = array_of(dtype, (1,), profile, random)[0]
    if dtype == STRING:
        return b'"%s"' % value[:LONGEST_FIELD].replace(b'"', b'""')
    return str(value).encode()
