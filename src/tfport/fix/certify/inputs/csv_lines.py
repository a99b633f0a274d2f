"""Generate the lines of text that a model parses as CSV."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.fix.certify.inputs.arrays import Random, ValueProfile, array_of
from tfport.fix.certify.inputs.input_uses import Reading
from tfport.graph.dtypes import STRING, DType
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_FIELD = 40


@dataclass(frozen=True, slots=True)
class CsvFields:
    """The fields of a line that DecodeCSV parses."""

    types: Sequence[DType]
    delimiter: bytes


def csv_fields(reading: Reading) -> CsvFields | None:
    """The fields that a node parses; None if it does not parse CSV."""
    types, delimiter = reading.node.attrs.get("OUT_TYPE"), reading.node.attrs.get("field_delim", ",")
    if reading.node.op != "DecodeCSV" or reading.index != 0 or not isinstance(types, list):
        return None
    raw = delimiter if isinstance(delimiter, bytes) else str(delimiter).encode()
    return CsvFields([dtype for dtype in types if isinstance(dtype, DType)], raw)


def made_lines(
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
