"""Tables filled from a file of the model: a vocabulary, or columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.kernels._parsing import numbers
from tfport.runtime.kernels._table import StaticTable
from tfport.runtime.kernels._texts import one, raw, shown, texts
from tfport.runtime.lower import host

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfport.graph.dtypes import DType

WHOLE_LINE, LINE_NUMBER = -2, -1


@host("InitializeTableFromTextFile InitializeTableFromTextFileV2")
def initialize_table_from_text_file(
    table_handle, filename, *, key_index, value_index, vocab_size, delimiter, offset, context
):
    if not isinstance(table_handle, StaticTable):
        raise RunFailed(f"table `{table_handle.name}` is no table that is initialised")
    name = one(filename, "the name of a file").decode(errors="replace")
    rows = lines(bytes(context.state.read_file(name)))
    if len(raw(delimiter)) != 1:
        raise RunFailed("the delimiter must be one byte")
    if vocab_size >= 0:
        if len(rows) < vocab_size:
            raise RunFailed(f"{name} has {len(rows)} lines, not {vocab_size}")
        rows = rows[:vocab_size]
    if b"" in rows:
        raise RunFailed(f"{name}: line {rows.index(b'') + 1} is empty")
    columns = None
    if max(key_index, value_index) >= 0:
        columns = [row.split(raw(delimiter)) for row in rows]
        for row in columns:
            if len(row) <= max(key_index, value_index):
                raise RunFailed(f"{name} has a line of {len(row)} columns: {shown(raw(delimiter).join(row))}")
    table_handle.fill(
        _column(rows, columns, key_index, table_handle.key, offset),
        _column(rows, columns, value_index, table_handle.value_type, offset),
    )


def lines(data: bytes) -> list[bytes]:
    """The lines of a file, without a carriage return at their ends."""
    found = [line.removesuffix(b"\r") for line in data.split(b"\n")]
    return found if found[-1] else found[:-1]


def _column(
    rows: Sequence[bytes], columns: Sequence[Sequence[bytes]] | None, index: int, dtype: DType, offset: int
) -> NDArray[Any]:
    if index == LINE_NUMBER:
        if dtype.name != "int64":
            raise RunFailed(f"the number of a line is an int64, not {dtype}")
        return np.arange(offset, offset + len(rows))
    if index == WHOLE_LINE and dtype.name != "string" and not dtype.is_integer:
        raise RunFailed(f"a line is a string or an integer, not {dtype}")
    fields = list(rows) if columns is None or index == WHOLE_LINE else [row[index] for row in columns]
    return texts(fields) if dtype.name == "string" else numbers(fields, dtype.numpy)
