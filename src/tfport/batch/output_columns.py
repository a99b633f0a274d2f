"""The outputs of calls as one column: lists for rows with axes, null for rows that failed.

    column = OutputColumn.of("scores", spec, binary=False)
    column.build([(rows, array), …], number, errors)         an Arrow array with `number` rows

Strings are text, unless the output is declared as binary or its name ends in `_bytes`, as in TensorFlow
Serving.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tfport.batch.input_columns import RowErrors, nested_lists
from tfport.errors import Error
from tfport.graph.dtypes import STRING, DType
from tfport.graph.model import TensorSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray

BYTES = "_bytes"


class OutputColumn:
    """One output, and the type of its column."""

    def __init__(self, name: str, spec: TensorSpec, *, binary: bool) -> None:
        if spec.form != "dense":
            raise Error(
                f"output `{name}` is {spec.form}, which has no column; choose others with outputs= (--result)"
            )
        self.name, self.spec = name, spec
        self.element = _element(name, spec.dtype.base, binary or name.endswith(BYTES))
        self.rank: int | None = None
        """The axes of a row; None until it is known."""
        self.has_rows = True
        """Whether the first axis is that of the rows; if not, the output is the value of one row."""

    def decide(self, batched: bool, array: NDArray[Any] | None = None) -> None:
        """Decide from the declared shape, or from the first answer, which axis is that of the rows."""
        dims = self.spec.shape.dims
        if dims is None and array is not None:
            dims = array.shape
        if dims is None:
            return
        self.has_rows = batched or dims[:1] == (1,)
        self.rank = len(dims) - self.has_rows
        if self.rank < 0:
            raise Error(
                f"output `{self.name}` is one number, not one value for each row; "
                "choose others with outputs= (--result)"
            )

    @property
    def type(self) -> pa.DataType:
        """The type of the column."""
        kind = self.element
        for _ in range(self.rank or 0):
            kind = pa.list_(kind)
        return kind

    def build(
        self, pieces: Sequence[tuple[NDArray[np.int64], NDArray[Any]]], number: int, errors: RowErrors
    ) -> Any:
        """The column from arrays with the rows that each has; the other rows are null."""
        if not pieces:
            return pa.nulls(number, self.type)
        rows = np.concatenate([rows for rows, _ in pieces])
        parts = [self._lists(array, part, errors) for part, array in pieces]
        column = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
        if len(rows) == number and (np.diff(rows) > 0).all():
            return column
        order = np.full(number, -1, np.int64)
        order[rows] = np.arange(len(rows))
        return column.take(pa.array(order, mask=order < 0))

    def _lists(self, array: NDArray[Any], rows: NDArray[np.int64], errors: RowErrors) -> Any:
        if array.dtype == object:
            return self._strings(array, rows, errors)
        element = self.element.to_pandas_dtype()
        return nested_lists(array if array.dtype == element else array.astype(element)).cast(self.type)

    def _strings(self, array: NDArray[Any], rows: NDArray[np.int64], errors: RowErrors) -> Any:
        """Lists of strings; a row with bytes that are not UTF-8 is null if the column is text."""
        column = pa.array(array.reshape(-1).tolist(), pa.binary())
        if pa.types.is_string(self.element):
            try:
                column = column.cast(pa.string())
            except pa.ArrowInvalid:
                column = self._texts(array, rows, errors)
        for axis in range(array.ndim - 1, 0, -1):
            number, size = int(np.prod(array.shape[:axis])), array.shape[axis]
            column = pa.ListArray.from_arrays(pa.array(np.arange(number + 1, dtype=np.int32) * size), column)
        return column

    def _texts(self, array: NDArray[Any], rows: NDArray[np.int64], errors: RowErrors) -> Any:
        per_row, texts = max(array.size // max(len(rows), 1), 1), list[str | None]()
        for index, value in enumerate(array.reshape(-1).tolist()):
            try:
                texts.append(value.decode())
            except UnicodeDecodeError:
                texts.append(None)
                hint = f"ask for bytes with binary=[{self.name!r}] (--binary)"
                why = f"output `{self.name}` is not UTF-8 text; {hint}"
                errors.setdefault(int(rows[index // per_row]), why)
        return pa.array(texts, pa.string())


def _element(name: str, dtype: DType, binary: bool) -> pa.DataType:
    if dtype == STRING:
        return pa.binary() if binary else pa.string()
    if dtype.name in ("bfloat16",) or dtype.name.startswith("float8"):
        return pa.float32()
    if dtype.name.startswith(("int4", "int2")):
        return pa.int8()
    if dtype.name.startswith(("uint4", "uint2")):
        return pa.uint8()
    try:
        return pa.from_numpy_dtype(dtype.numpy)
    except (KeyError, pa.ArrowNotImplementedError):
        raise Error(
            f"output `{name}` is {dtype}, which no column can hold; choose others with outputs= (--result)"
        ) from None
