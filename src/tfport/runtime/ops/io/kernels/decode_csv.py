"""DecodeCSV: records of comma-separated values to columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import attr_bytes, printable
from tfport.runtime.ops.strings.number_parsing import parser

if TYPE_CHECKING:
    from numpy.typing import NDArray

_QUOTE, _BREAKS = b'"', (b"\n", b"\r")


@host("DecodeCSV")
def decode_csv(records, record_defaults, *, OUT_TYPE, field_delim, use_quote_delim, na_value, select_cols):
    delimiter, missing = attr_bytes(field_delim), attr_bytes(na_value)
    if len(delimiter) != 1:
        raise RunFailed(f"field_delim must be one byte, found {len(delimiter)}")
    if select_cols and len(select_cols) != len(record_defaults):
        raise RunFailed(
            "select_cols and record_defaults must have the same length, "
            f"found {len(select_cols)} and {len(record_defaults)}"
        )
    if any(column < 0 for column in select_cols) or list(select_cols) != sorted(set(select_cols)):
        raise RunFailed(
            f"select_cols must be strictly increasing and not negative, found {list(select_cols)}"
        )
    for default in record_defaults:
        if default.ndim > 1 or default.size > 1:
            raise RunFailed(
                "each of record_defaults must have one element, or none if the field is required, "
                f"found shape {list(default.shape)}"
            )
    rows = [
        _fields(record, delimiter, use_quote_delim, select_cols) for record in records.reshape(-1).tolist()
    ]
    for i, row in enumerate(rows):
        if len(row) != len(record_defaults):
            raise RunFailed(f"record {i} must have {len(record_defaults)} fields, found {len(row)}")
    return [
        _column([row[i] for row in rows], default, missing, i).reshape(records.shape)
        for i, default in enumerate(record_defaults)
    ]


def _column(fields: Sequence[bytes], default: NDArray[Any], missing: bytes, at: int) -> NDArray[Any]:
    read = parser(default.dtype) if default.dtype != object else None
    fallback = default.reshape(-1).tolist()
    values: list[Any] = []
    for i, field in enumerate(fields):
        if not field or field == missing:
            if not fallback:
                raise RunFailed(f"required field {at} is missing in record {i}")
            values.append(fallback[0])
            continue
        value = field if read is None else read(field)
        if value is None:
            raise RunFailed(f"field {at} of record {i} is not a valid {default.dtype}: `{printable(field)}`")
        values.append(value)
    return string_array(values) if read is None else np.array(values, default.dtype)


def _fields(record: bytes, delimiter: bytes, quotes: bool, selected: Sequence[int]) -> list[bytes]:
    """The fields of a record, or only the selected ones."""
    plain = not (quotes and _QUOTE in record) and b"\n" not in record and b"\r" not in record
    if plain and not selected:
        return record.split(delimiter) if record else []
    fields: list[bytes] = []
    at = number = 0
    while at < len(record):
        if record[at : at + 1] in _BREAKS:
            at += 1
            continue
        if quotes and record[at : at + 1] == _QUOTE:
            field, at = _quoted(record, at + 1, delimiter)
        else:
            field, at = _plain(record, at, delimiter, quotes)
        if not selected or number in selected:
            fields.append(field)
            if selected and len(fields) == len(selected):
                return fields
        number += 1
    if record.endswith(delimiter) and (not selected or number in selected):
        fields.append(b"")
    return fields


def _plain(record: bytes, at: int, delimiter: bytes, quotes: bool) -> tuple[bytes, int]:
    end = record.find(delimiter, at)
    field = record[at:] if end < 0 else record[at:end]
    if b"\n" in field or b"\r" in field or (quotes and _QUOTE in field):
        raise RunFailed(f"an unquoted field must not contain quotes or line breaks: `{printable(field)}`")
    return field, at + len(field) + 1


def _quoted(record: bytes, at: int, delimiter: bytes) -> tuple[bytes, int]:
    """A field up to the closing quote, which a delimiter or the end of the record follows."""
    parts = []
    while (end := record.find(_QUOTE, at)) >= 0:
        parts.append(record[at:end])
        follows = record[end + 1 : end + 2]
        if follows in (delimiter, b""):
            return b"".join(parts), end + 2
        if follows != _QUOTE:
            raise RunFailed("a quote inside a quoted field must be doubled")
        parts.append(_QUOTE)
        at = end + 2
    raise RunFailed("a quoted field must end with a quote, followed by a delimiter or the end of the record")
