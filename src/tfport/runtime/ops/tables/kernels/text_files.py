"""InitializeTableFromTextFile: fill a table from a text file of the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import attr_bytes, printable, scalar_value
from tfport.runtime.ops.strings.number_parsing import numbers
from tfport.runtime.ops.tables.table import StaticTable
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.graph.dtypes import DType

WHOLE_LINE, LINE_NUMBER = -2, -1


@host("InitializeTableFromTextFile InitializeTableFromTextFileV2")
def initialize_table_from_text_file(
    table_handle, filename, *, key_index, value_index, vocab_size, delimiter, offset, context
):
    if not isinstance(table_handle, StaticTable):
        raise RunFailed(f"table `{table_handle.name}` must be an immutable table")
    name = scalar_value(filename, "filename").decode(errors="replace")
    layout = TextFileLayout(key_index, value_index, vocab_size, delimiter, offset)
    data = bytes(context.state.read_file(name))
    table_handle.fill(*entries(name, data, layout, table_handle.key, table_handle.value_type))


@dataclass(frozen=True, slots=True)
class TextFileLayout:
    """Where the keys and values are in a file: the attributes of InitializeTableFromTextFile."""

    key_index: int
    value_index: int
    vocab_size: int = -1
    delimiter: str | bytes = "\t"
    offset: int = 0


def entries(
    name: str, data: bytes, layout: TextFileLayout, key: DType, value: DType
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The keys and values in a text file; RunFailed if it is malformed."""
    rows, delimiter = lines(data), attr_bytes(layout.delimiter)
    if len(delimiter) != 1:
        raise RunFailed(f"delimiter must be one byte, found {len(delimiter)}")
    if layout.vocab_size >= 0:
        if len(rows) < layout.vocab_size:
            raise RunFailed(
                f"{name}: expected at least {layout.vocab_size} lines (vocab_size), found {len(rows)}"
            )
        rows = rows[: layout.vocab_size]
    if b"" in rows:
        raise RunFailed(f"{name}: line {rows.index(b'') + 1} is empty")
    columns, last = None, max(layout.key_index, layout.value_index)
    if last >= 0:
        columns = [row.split(delimiter) for row in rows]
        for row in columns:
            if len(row) <= last:
                line = printable(delimiter.join(row))
                raise RunFailed(f"{name}: expected at least {last + 1} columns, found {len(row)}: {line}")
    return (
        _column(rows, columns, layout.key_index, key, layout.offset),
        _column(rows, columns, layout.value_index, value, layout.offset),
    )


def lines(data: bytes) -> list[bytes]:
    """The lines of a file, without trailing carriage returns."""
    rows = [line.removesuffix(b"\r") for line in data.split(b"\n")]
    return rows if rows[-1] else rows[:-1]


def _column(
    rows: Sequence[bytes], columns: Sequence[Sequence[bytes]] | None, index: int, dtype: DType, offset: int
) -> NDArray[Any]:
    if index == LINE_NUMBER:
        if dtype.name != "int64":
            raise RunFailed(f"line numbers need a table dtype of int64, found {dtype}")
        return np.arange(offset, offset + len(rows))
    if index == WHOLE_LINE and dtype.name != "string" and not dtype.is_integer:
        raise RunFailed(f"whole lines need a table dtype of string or an integer, found {dtype}")
    fields = list(rows) if columns is None or index == WHOLE_LINE else [row[index] for row in columns]
    return string_array(fields) if dtype.name == "string" else numbers(fields, dtype.numpy)
