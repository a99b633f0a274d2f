"""Records of comma-separated values to columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.strings.byte_strings import attr_bytes, printable, string_array
from tfport.runtime.ops.strings.number_parsing import reader

if TYPE_CHECKING:
    from numpy.typing import NDArray

_QUOTE, _BREAKS = b'"', (b"\n", b"\r")


@host("DecodeCSV")
def decode_csv(records, record_defaults, *, OUT_TYPE, field_delim, use_quote_delim, na_value, select_cols):
    delimiter, missing = attr_bytes(field_delim), attr_bytes(na_value)
    if len(delimiter) != 1:
        raise RunFailed("the delimiter must be one byte")
    if select_cols and len(select_cols) != len(record_defaults):
        raise RunFailed(f"{len(select_cols)} columns are chosen, and {len(record_defaults)} have defaults")
    if any(column < 0 for column in select_cols) or list(select_cols) != sorted(set(select_cols)):
        raise RunFailed("the chosen columns must rise and not be negative")
    for default in record_defaults:
        if default.ndim > 1 or default.size > 1:
            raise RunFailed("a default has one element, or none where a value is required")
    rows = [
        _fields(record, delimiter, use_quote_delim, select_cols) for record in records.reshape(-1).tolist()
    ]
    for i, row in enumerate(rows):
        if len(row) != len(record_defaults):
            raise RunFailed(f"record {i} has {len(row)} fields, not {len(record_defaults)}")
    return [
        _column([row[i] for row in rows], default, missing, i).reshape(records.shape)
        for i, default in enumerate(record_defaults)
    ]


def _column(fields: Sequence[bytes], default: NDArray[Any], missing: bytes, at: int) -> NDArray[Any]:
    read = reader(default.dtype) if default.dtype != object else None
    instead = default.reshape(-1).tolist()
    values: list[Any] = []
    for i, field in enumerate(fields):
        if not field or field == missing:
            if not instead:
                raise RunFailed(f"field {at} is required, and missing in record {i}")
            values.append(instead[0])
            continue
        value = field if read is None else read(field)
        if value is None:
            raise RunFailed(f"field {at} of record {i} is no {default.dtype}: `{printable(field)}`")
        values.append(value)
    return string_array(values) if read is None else np.array(values, default.dtype)


def _fields(record: bytes, delimiter: bytes, quotes: bool, chosen: Sequence[int]) -> list[bytes]:
    """The fields of a record, or those that are chosen."""
    plain = not (quotes and _QUOTE in record) and b"\n" not in record and b"\r" not in record
    if plain and not chosen:
        return record.split(delimiter) if record else []
    found: list[bytes] = []
    at = number = 0
    while at < len(record):
        if record[at : at + 1] in _BREAKS:
            at += 1
            continue
        if quotes and record[at : at + 1] == _QUOTE:
            field, at = _quoted(record, at + 1, delimiter)
        else:
            field, at = _plain(record, at, delimiter, quotes)
        if not chosen or number in chosen:
            found.append(field)
            if chosen and len(found) == len(chosen):
                return found
        number += 1
    if record.endswith(delimiter) and (not chosen or number in chosen):
        found.append(b"")
    return found


def _plain(record: bytes, at: int, delimiter: bytes, quotes: bool) -> tuple[bytes, int]:
    end = record.find(delimiter, at)
    field = record[at:] if end < 0 else record[at:end]
    if b"\n" in field or b"\r" in field or (quotes and _QUOTE in field):
        raise RunFailed(f"a field without quotes has quotes or line breaks inside: `{printable(field)}`")
    return field, at + len(field) + 1


def _quoted(record: bytes, at: int, delimiter: bytes) -> tuple[bytes, int]:
    """A field up to the quote that a delimiter or the end follows."""
    parts = []
    while (end := record.find(_QUOTE, at)) >= 0:
        parts.append(record[at:end])
        follows = record[end + 1 : end + 2]
        if follows in (delimiter, b""):
            return b"".join(parts), end + 2
        if follows != _QUOTE:
            raise RunFailed("a quote inside a field has to be written twice")
        parts.append(_QUOTE)
        at = end + 2
    raise RunFailed("a field in quotes has to end with a quote and a delimiter, or the record's end")
