"""Columns of a record batch as the arrays of an input.

    values = InputColumn("x", spec, ["x"]).read(batch, errors)
    values.shapes                   the shape of each row, or one shape for all
    values.take(rows)               an array with these rows, which have the same shape

A row that cannot be fed is left out, and `errors` says why by its number: a null, lists of different lengths
where the model needs equal ones, an integer that does not fit. A column of the wrong type is an error for the
whole table. Numbers are converted as Python's are: integers to any number, floats to any float.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfport.errors import Error
from tfport.graph.dtypes import STRING, DType
from tfport.graph.model import TensorSpec
from tfport.startup.dataclass import dataclass
from tfport.words import count, printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

RowErrors = dict[int, str]
"""Why rows failed, by their number in the record batch."""
Shape = tuple[int, ...]


@dataclass(slots=True)
class InputRows:
    """The values of an input, row by row."""

    flat: NDArray[Any]
    shapes: list[Shape] | Shape
    """The shape of each row; one tuple if all rows have the same."""
    rows: NDArray[np.int64]
    """The rows of the record batch that can be fed."""
    starts: NDArray[np.int64] | None = None
    """Where each row begins in `flat`, if the rows have different shapes."""

    def take(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """The rows with these indices into `rows`, along a new first axis."""
        if isinstance(self.shapes, tuple):
            size = math.prod(self.shapes)
            table = self.flat.reshape(len(self.rows), size)
            is_run = len(indices) and indices[-1] - indices[0] == len(indices) - 1
            part = table[indices[0] : indices[-1] + 1] if is_run else table[indices]
            return part.reshape(len(indices), *self.shapes)
        assert self.starts is not None
        shape = self.shapes[indices[0]]
        size = math.prod(shape)
        parts = [self.flat[start : start + size] for start in self.starts[indices]]
        return np.concatenate(parts).reshape(len(indices), *shape)


class InputColumn:
    """Reads one input of a signature from one column, or from several scalar ones."""

    def __init__(self, name: str, spec: TensorSpec, columns: Sequence[str]) -> None:
        self.name, self.spec, self.columns = name, spec, list(columns)
        if spec.form != "dense":
            raise Error(f"input `{name}` is {spec.form}; tables feed dense tensors only")

    def row_rank(self, schema: pa.Schema) -> int:
        """The rank of a row; an Error if the input cannot be fed from columns of these types."""
        if len(self.columns) > 1:
            for column in self.columns:
                if _depth(schema.field(column).type):
                    raise Error(
                        f"input `{self.name}`: column `{column}` has lists; only scalar columns can be joined"
                    )
                self._check_type(column, schema.field(column).type)
            return 1
        kind = schema.field(self.columns[0]).type
        self._check_type(self.columns[0], kind)
        return _depth(kind)

    def is_batched(self, schema: pa.Schema) -> bool:
        """Whether the first axis of the input is that of the rows; an Error if the ranks do not fit."""
        rank, dims = self.row_rank(schema), self.spec.shape.dims
        if dims is None or rank == len(dims) - 1 or self._reshapes(rank):
            return True
        if rank == len(dims):
            return False
        raise Error(
            f"column `{self.columns[0]}` has {_rank_name(rank)} in each row, "
            f"but input `{self.name}` has shape {self.spec.shape}"
        )

    def _reshapes(self, rank: int) -> bool:
        """Whether a flat list, or a number, has the elements of a row with a known shape."""
        inner = (self.spec.shape.dims or ())[1:]
        size = None if None in inner else math.prod(s or 0 for s in inner)
        return bool(inner) and size is not None and (rank == 1 or (rank == 0 and size == 1))

    def _check_type(self, column: str, kind: pa.DataType) -> None:
        leaf, dtype = _leaf(kind), self.spec.dtype.base
        if dtype == STRING:
            fits = _is_bytes(leaf)
        elif dtype.name == "bool":
            fits = pa.types.is_boolean(leaf)
        elif dtype.is_integer or dtype.is_quantized:
            fits = pa.types.is_integer(leaf) or pa.types.is_boolean(leaf)
        else:
            fits = pa.types.is_integer(leaf) or pa.types.is_floating(leaf) or pa.types.is_boolean(leaf)
        if not fits:
            hint = "; the model does not decode images or text itself" if _is_bytes(leaf) else ""
            raise Error(
                f"column `{column}` has the type {kind}, but input `{self.name}` is {dtype} "
                f"{self.spec.shape}{hint}"
            )

    def read(self, batch: pa.RecordBatch, errors: RowErrors) -> InputRows:
        """The rows that can be fed; `errors` gets the others."""
        if len(self.columns) > 1:
            return self._joined(batch, errors)
        return self._read(self.columns[0], batch.column(self.columns[0]), errors)

    def _joined(self, batch: pa.RecordBatch, errors: RowErrors) -> InputRows:
        parts, rows = [], np.arange(batch.num_rows)
        for column in self.columns:
            array = batch.column(column)
            valid = np.asarray(array.is_valid())
            for row in np.flatnonzero(~valid):
                errors.setdefault(int(row), f"column `{column}` is null")
            rows = rows[valid[rows]]
        for column in self.columns:
            array = batch.column(column).take(pa.array(rows))
            parts.append(self._converted(_numpy(array), column, rows, None, errors))
        values = np.stack(parts, axis=1).reshape(-1) if len(rows) else np.empty(0, parts[0].dtype)
        return self._fitting(InputRows(values, (len(self.columns),), rows), errors)

    def _read(self, column: str, array: Any, errors: RowErrors) -> InputRows:
        array = _plain(array)
        rows: NDArray[np.int64] = np.arange(len(array))
        if _has_nulls(array):
            nulls = _null_rows(array)
            for row, whole in nulls.items():
                errors.setdefault(row, f"column `{column}` {'is null' if whole else 'has a null inside'}")
            rows = np.setdiff1d(rows, np.fromiter(nulls, np.int64, len(nulls)))
            array = array.take(pa.array(rows))
        lengths = []
        while _is_list(array.type):
            lengths.append(np.asarray(pc.list_value_length(array), np.int64))
            array = pc.list_flatten(array)
        return self._fitting(self._shaped(column, _numpy(array), lengths, rows, errors), errors)

    def _shaped(
        self, column: str, flat: NDArray[Any], lengths: list[Any], rows: NDArray[np.int64], errors: RowErrors
    ) -> InputRows:
        if all(len(sizes) == 0 or (sizes == sizes[0]).all() for sizes in lengths):
            shape = tuple(int(sizes[0]) if len(sizes) else 0 for sizes in lengths)
            values = InputRows(flat, shape, rows)
            owners = None
        else:
            values, owners = _ragged(column, flat, lengths, rows, errors)
        values.flat = self._converted(values.flat, column, rows, owners, errors)
        return values

    def _converted(
        self, flat: NDArray[Any], column: str, rows: Any, owners: Any, errors: RowErrors
    ) -> NDArray[Any]:
        """The elements in the type of the input; rows with integers that do not fit become errors."""
        dtype = self.spec.dtype.base
        try:
            wanted = dtype.numpy
        except KeyError:
            raise Error(f"input `{self.name}` is {dtype}, which cannot be fed") from None
        if flat.dtype == wanted or wanted.kind == "O":
            return flat
        if wanted.kind in "iu" and flat.dtype.kind in "iu" and len(flat):
            owners = np.repeat(rows, len(flat) // len(rows)) if owners is None else owners
            self._check_range(flat, np.iinfo(wanted), column, owners, errors)
        with np.errstate(all="ignore"):  # a float that is too large becomes infinite, as in TensorFlow
            return flat.astype(wanted)

    def _check_range(
        self, flat: NDArray[Any], limits: Any, column: str, owners: NDArray[np.int64], errors: RowErrors
    ) -> None:
        low, high = int(limits.min), int(limits.max)
        if low <= int(flat.min()) and int(flat.max()) <= high:
            return
        wrong = np.flatnonzero((flat < low) | (flat > high))
        for row, index in zip(*np.unique(owners[wrong], return_index=True), strict=True):
            value = flat[wrong[index]]
            errors.setdefault(
                int(row), f"column `{column}` has {value}, but input `{self.name}` takes {low} to {high}"
            )

    def _fitting(self, values: InputRows, errors: RowErrors) -> InputRows:
        """The rows with the shape that the input declares."""
        dims = self.spec.shape.dims
        if dims is None:
            return values
        if isinstance(values.shapes, tuple):
            shape = self._row_shape(values.shapes)
            if shape is None:
                for row in values.rows:
                    errors.setdefault(int(row), self._misfit(values.shapes))
                return InputRows(values.flat[:0], tuple(s or 0 for s in dims[1:]), values.rows[:0])
            values.shapes = shape
            return values
        assert values.starts is not None
        shapes = [self._row_shape(shape) for shape in values.shapes]
        fits = np.array([shape is not None for shape in shapes], bool)
        for index in np.flatnonzero(~fits):
            errors.setdefault(int(values.rows[index]), self._misfit(values.shapes[index]))
        values.shapes = [shape for shape in shapes if shape is not None]
        values.rows, values.starts = values.rows[fits], values.starts[fits]
        return values

    def _row_shape(self, shape: Shape) -> Shape | None:
        dims = self.spec.shape.dims or ()
        declared = dims if len(dims) == len(shape) else dims[1:]
        if len(shape) == len(dims) - 1 or len(shape) == len(dims):
            if all(d is None or d == size for d, size in zip(declared, shape, strict=True)):
                return shape
            if len(shape) == len(dims):
                return None
        inner = dims[1:]
        if None not in inner and math.prod(d or 0 for d in inner) == math.prod(shape) and len(shape) < 2:
            return tuple(d or 0 for d in inner)
        return None

    def _misfit(self, shape: Shape) -> str:
        what = count(shape[0], "value") if len(shape) == 1 else f"shape {shape}"
        return f"column `{self.columns[0]}` has {what}, but input `{self.name}` has shape {self.spec.shape}"


def missing_columns(
    wanted: Mapping[str, Sequence[str]], specs: Mapping[str, TensorSpec], schema: pa.Schema
) -> Error | None:
    """An error that names the columns that are missing, and those that are there."""
    missing = [c for columns in wanted.values() for c in columns if c not in schema.names]
    if not missing:
        return None
    present = ", ".join(printable(name) for name in schema.names) or "none"
    names = ", ".join(f"`{printable(name)}`" for name in missing)
    inputs = ", ".join(f"{name} ({specs[name].dtype} {specs[name].shape})" for name in wanted)
    many = "columns" if len(missing) > 1 else "column"
    return Error(
        f"no {many} {names}; columns: {present}; inputs: {inputs}; "
        "name them with columns={input: column} (--column)"
    )


def element_type(dtype: DType) -> pa.DataType:
    """The type of texts or numbers in a file that has no types, for an input."""
    if dtype == STRING:
        return pa.string()
    if dtype.name == "bool":
        return pa.bool_()
    return pa.int64() if dtype.is_integer or dtype.is_quantized else pa.float64()


def _ragged(
    column: str, flat: NDArray[Any], lengths: list[Any], rows: NDArray[np.int64], errors: RowErrors
) -> tuple[InputRows, NDArray[np.int64]]:
    """Rows of different shapes; the lists within a row must have equal lengths."""
    number = len(rows)
    first = np.concatenate([[0], np.cumsum(lengths[0])])
    begins = first
    shapes: list[Shape] = [(int(size),) for size in lengths[0]]
    uneven: set[int] = set()
    for sizes in lengths[1:]:
        ends = np.concatenate([[0], np.cumsum(sizes)])
        for row in range(number):
            inner = sizes[begins[row] : begins[row + 1]]
            if len(inner) and (inner != inner[0]).any():
                uneven.add(row)
            shapes[row] = (*shapes[row], int(inner[0]) if len(inner) else 0)
        begins = ends[begins]
    for row in uneven:
        errors.setdefault(int(rows[row]), f"column `{column}` has lists of different lengths in one row")
    owners = np.repeat(rows, np.diff(begins))
    good = np.array([row not in uneven for row in range(number)], bool)
    kept = [shape for row, shape in enumerate(shapes) if row not in uneven]
    return InputRows(flat, kept, rows[good], begins[:-1][good]), owners


def _plain(array: Any) -> Any:
    """An array without chunks, dictionaries and extension types."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.to_numpy_ndarray() if hasattr(array, "to_numpy_ndarray") else array.storage
        if isinstance(array, np.ndarray):
            array = nested_lists(array)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def nested_lists(values: NDArray[Any]) -> Any:
    """An array with several axes as lists in lists."""
    array = pa.array(np.ascontiguousarray(values).reshape(-1))
    for axis in range(values.ndim - 1, 0, -1):
        rows, size = math.prod(values.shape[:axis]), values.shape[axis]
        array = pa.ListArray.from_arrays(
            pa.array(np.arange(rows + 1, dtype=np.int32) * np.int32(size)), array
        )
    return array


def _numpy(array: Any) -> NDArray[Any]:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if _is_bytes(array.type):
        array = array.cast(pa.large_binary())
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


def _has_nulls(array: Any) -> bool:
    while True:
        if array.null_count:
            return True
        if not _is_list(array.type):
            return False
        array = pc.list_flatten(array)


def _null_rows(array: Any) -> dict[int, bool]:
    """The rows with a null, and whether the row itself is null."""
    owners, rows = np.arange(len(array)), dict[int, bool]()
    whole = True
    while True:
        for row in owners[~np.asarray(array.is_valid())]:
            rows.setdefault(int(row), whole)
        if not _is_list(array.type):
            return rows
        owners = owners[np.asarray(pc.list_parent_indices(array))]
        array, whole = pc.list_flatten(array), False


def _is_list(kind: pa.DataType) -> bool:
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(is_list)


def _is_bytes(kind: pa.DataType) -> bool:
    of = pa.types
    tests = (of.is_string, of.is_large_string, of.is_binary, of.is_large_binary, of.is_fixed_size_binary)
    return any(test(kind) for test in tests)


def _depth(kind: pa.DataType) -> int:
    if isinstance(kind, pa.FixedShapeTensorType):
        return len(kind.shape)
    return 1 + _depth(kind.value_type) if _is_list(kind) else 0


def _leaf(kind: pa.DataType) -> pa.DataType:
    while _is_list(kind) or pa.types.is_dictionary(kind) or isinstance(kind, pa.FixedShapeTensorType):
        kind = kind.value_type
    return kind


def _rank_name(rank: int) -> str:
    return ("one value", "a list")[rank] if rank < 2 else f"lists in lists ({rank} levels)"
