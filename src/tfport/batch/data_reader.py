"""Read the rows of files as record batches, a few at a time.

    for part in DataReader(files, wanted).read(file=0, row=100_000): part.batch, part.errors

Rows are numbered in their file, from 0. A damaged record, a line that is not JSON, or a text that is no
number is a row with an error, so that it need not end a job. `wanted` has the Arrow types of the columns that
feed inputs, for files without types.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tfport.batch.data_files import CSV, IMAGE, JSON_LINES, PARQUET, TFRECORD, DataFile
from tfport.batch.input_columns import RowErrors
from tfport.batch.scorer import CONTENT
from tfport.errors import Error, UnreadableFile
from tfport.formats.encoding.tfrecord import record_blocks
from tfport.formats.files import reason
from tfport.startup.dataclass import dataclass

MOST_ROWS = 8192
MOST_BYTES = 32 << 20
"""Rows and bytes that are read at a time."""
BLOCK_ROWS = 256
RECORD, PATH = "record", "path"
_BLOCK = 4 << 20


@dataclass(slots=True)
class TablePart:
    """Some rows of a file."""

    batch: pa.RecordBatch
    file: int
    row: int
    """The number of the first row in its file."""
    done: float
    """How much of all files was read, from 0 to 1."""
    errors: RowErrors
    """Rows that cannot be read."""


class DataReader:
    """The rows of some files of one format."""

    def __init__(self, files: Sequence[DataFile], wanted: Mapping[str, pa.DataType] | None = None) -> None:
        self.files, self.wanted = files, dict(wanted or {})
        total = sum(file.size for file in files) or 1
        self._before = [0.0, *itertools.accumulate(file.size / total for file in files)]

    def read(self, file: int = 0, row: int = 0) -> Iterator[TablePart]:
        """The rows from this one on."""
        if self.files[0].format == IMAGE:
            yield from self._images(file + row)
            return
        reader = {PARQUET: self._parquet, TFRECORD: self._records, CSV: self._csv, JSON_LINES: self._lines}
        for index in range(file, len(self.files)):
            source = self.files[index]
            skip = row if index == file else 0
            try:
                yield from reader[source.format](index, source, skip)
            except pa.ArrowException as error:
                first = str(error).splitlines()[0]
                raise UnreadableFile(f"{source.path}: {first}") from None
            except (OSError, EOFError) as error:
                why = reason(error) if isinstance(error, OSError) else str(error)
                raise UnreadableFile(f"{source.path}: {why}") from None

    def _done(self, index: int, share: float) -> float:
        return self._before[index] + (self._before[index + 1] - self._before[index]) * min(share, 1.0)

    def share_before(self, position: tuple[int, int]) -> float:
        """How much of all files is before a row, at least."""
        return self._before[min(position[0], len(self.files))]

    def _parquet(self, index: int, source: DataFile, skip: int) -> Iterator[TablePart]:
        with source.open() as stream:
            table = pq.ParquetFile(stream)
            metadata, at, groups = table.metadata, 0, list[int]()
            sizes = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
            for number, group in enumerate(sizes):
                if not groups and at + group.num_rows <= skip:
                    at += group.num_rows
                else:
                    groups.append(number)
            per_row = sum(g.total_byte_size for g in sizes) / max(metadata.num_rows, 1)
            rows = int(min(max(MOST_BYTES / max(per_row, 1), 1), MOST_ROWS))
            for batch in table.iter_batches(rows, row_groups=groups):
                end = at + batch.num_rows
                if end > skip:
                    part = batch.slice(max(skip - at, 0))
                    done = self._done(index, end / metadata.num_rows)
                    yield TablePart(part, index, max(at, skip), done, {})
                at = end

    def _records(self, index: int, source: DataFile, skip: int) -> Iterator[TablePart]:
        with source.open() as stream:
            records = record_blocks(stream.read, source.path)
            schema = pa.schema([(RECORD, pa.binary())], metadata={CONTENT: RECORD})
            yield from self._pieces(index, source, stream, records, skip, _single(schema))

    def _lines(self, index: int, source: DataFile, skip: int) -> Iterator[TablePart]:
        with source.open() as stream:
            lines = _blocks(_parsed(line) for line in stream if line.strip())
            yield from self._pieces(index, source, stream, lines, skip, self._objects())

    def _objects(self) -> Callable[[list[Any], RowErrors], pa.RecordBatch]:
        """A function from JSON objects to a record batch; the first ones decide the columns and types."""
        schema: list[pa.Schema] = []

        def build(rows: list[Any], errors: RowErrors) -> pa.RecordBatch:
            if not schema:
                schema.append(self._json_schema(rows))
            columns = [
                _typed([None if row is None else row.get(field.name) for row in rows], field, errors)
                for field in schema[0]
            ]
            return pa.RecordBatch.from_arrays(columns, schema=schema[0])

        return build

    def _json_schema(self, rows: list[Any]) -> pa.Schema:
        names = dict.fromkeys(name for row in rows if row is not None for name in row)
        fields = []
        for name in names:
            wanted = self.wanted.get(name)
            try:
                kind = pa.array([row.get(name) for row in rows if row is not None]).type
                kind = kind if wanted is None else _with_leaf(kind, wanted)
            except (pa.ArrowException, TypeError, ValueError):
                kind = wanted or pa.string()
            fields.append(pa.field(name, pa.string() if pa.types.is_null(kind) else kind))
        return pa.schema(fields)

    def _pieces(
        self,
        index: int,
        source: DataFile,
        stream: Any,
        blocks: Iterable[list[Any]],
        skip: int,
        build: Callable[[list[Any], RowErrors], pa.RecordBatch],
    ) -> Iterator[TablePart]:
        """Rows as record batches of limited size. A row that is an error is unreadable."""
        at, values, size = skip, list[Any](), 0
        raw = getattr(stream, "fileobj", None) or stream  # the position in a compressed file

        def part(rows: list[Any]) -> TablePart:
            failed = {kind for kind in set(map(type, rows)) if issubclass(kind, Error)}
            errors = {i: str(row) for i, row in enumerate(rows) if type(row) in failed} if failed else {}
            readable = [None if i in errors else row for i, row in enumerate(rows)] if errors else rows
            done = self._done(index, raw.tell() / max(source.size, 1))
            return TablePart(build(readable, errors), index, at, done, errors)

        for block in blocks:
            block, skip = block[skip:], max(skip - len(block), 0)
            values += block
            size += _bytes_of(block)
            while len(values) >= MOST_ROWS or size >= MOST_BYTES:
                yield part(values[:MOST_ROWS])
                at += len(values[:MOST_ROWS])
                values = values[MOST_ROWS:]
                size = _bytes_of(values)
        if values:
            yield part(values)

    def _csv(self, index: int, source: DataFile, skip: int) -> Iterator[TablePart]:
        with source.open() as stream:
            wrong: list[str] = []

            def refuse(row: Any) -> str:
                wrong.append(
                    f"expected {row.expected_columns} columns, found {row.actual_columns}: {row.text[:60]}"
                )
                return "error"

            texts = {name: pa.string() for name, kind in self.wanted.items()}
            convert = pa_csv.ConvertOptions(column_types=texts, strings_can_be_null=True)
            parse = pa_csv.ParseOptions(invalid_row_handler=refuse, newlines_in_values=True)
            read = pa_csv.ReadOptions(block_size=_BLOCK, use_threads=False)
            try:
                table = pa_csv.open_csv(stream, read, parse, convert)
                at = 0
                for block in table:
                    for batch in _slices(block):
                        end = at + batch.num_rows
                        if end > skip:
                            errors: RowErrors = {}
                            part = self._numbers(batch.slice(max(skip - at, 0)), errors)
                            done = self._done(index, _position(stream) / max(source.size, 1))
                            yield TablePart(part, index, max(at, skip), done, errors)
                        at = end
            except pa.ArrowInvalid:
                if not wrong:
                    raise
                raise UnreadableFile(f"{source.path}, after row {at}: {wrong[0]}") from None

    def _numbers(self, batch: pa.RecordBatch, errors: RowErrors) -> pa.RecordBatch:
        """Parse the texts of columns that feed inputs, each row on its own if one of them is wrong."""
        columns = []
        for field, column in zip(batch.schema, batch.columns, strict=True):
            kind = self.wanted.get(field.name, field.type)
            columns.append(column if kind == column.type else _cast(column, kind, field.name, errors))
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def _images(self, start: int) -> Iterator[TablePart]:
        schema = pa.schema([(PATH, pa.string()), ("image", pa.binary())], metadata={CONTENT: "image"})
        at = start
        while at < len(self.files):
            paths, images, size, errors = list[str](), list[Any](), 0, RowErrors()
            while at + len(paths) < len(self.files) and len(paths) < MOST_ROWS and size < MOST_BYTES:
                file = self.files[at + len(paths)]
                paths.append(file.path)
                try:
                    with file.open() as stream:
                        images.append(stream.read())
                        size += len(images[-1])
                except (UnreadableFile, OSError) as error:
                    errors[len(images)] = str(error)
                    images.append(None)
            batch = pa.RecordBatch.from_arrays(
                [pa.array(paths), pa.array(images, pa.binary())], schema=schema
            )
            yield TablePart(batch, at, 0, self._before[at + len(paths)], errors)
            at += len(paths)


def _bytes_of(rows: list[Any]) -> int:
    """The bytes of records; 0 for parsed rows."""
    if set(map(type, rows)) == {bytes}:
        return sum(map(len, rows))
    return sum(len(row) for row in rows if isinstance(row, bytes))


def _blocks(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while block := list(itertools.islice(rows, BLOCK_ROWS)):
        yield block


def _with_leaf(kind: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """Lists as in the data, with elements of the type that the input needs."""
    if pa.types.is_list(kind):
        return pa.list_(_with_leaf(kind.value_type, wanted))
    while pa.types.is_list(wanted):
        wanted = wanted.value_type
    return wanted


def _single(schema: pa.Schema) -> Callable[[list[Any], RowErrors], pa.RecordBatch]:
    return lambda values, errors: pa.RecordBatch.from_arrays([pa.array(values, pa.binary())], schema=schema)


def _parsed(line: bytes) -> Any:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return UnreadableFile(f"not JSON: {error}")
    return value if isinstance(value, dict) else UnreadableFile("expected a JSON object")


def _typed(values: list[Any], field: pa.Field, errors: RowErrors) -> pa.Array:
    try:
        return pa.array(values, field.type)
    except (pa.ArrowException, TypeError, ValueError):
        array = []
        for row, value in enumerate(values):
            try:
                array.append(pa.scalar(value, field.type).as_py())
            except (pa.ArrowException, TypeError, ValueError):
                errors.setdefault(
                    row, f"column `{field.name}` has {str(value)[:40]!r}, expected {field.type}"
                )
                array.append(None)
        return pa.array(array, field.type)


def _cast(column: pa.Array, kind: pa.DataType, name: str, errors: RowErrors) -> pa.Array:
    if not pa.types.is_string(column.type):
        return column.cast(kind)
    if pa.types.is_list(kind):  # a list is JSON in a CSV file
        values = [None if text is None else _parsed_list(text) for text in column.to_pylist()]
        return _typed(values, pa.field(name, kind), errors)
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        values = []
        for row, text in enumerate(column.to_pylist()):
            try:
                values.append(pa.scalar(text, pa.string()).cast(kind).as_py())
            except pa.ArrowInvalid:
                errors.setdefault(row, f"column `{name}` has {text[:40]!r}, expected {kind}")
                values.append(None)
        return pa.array(values, kind)


def _parsed_list(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _slices(block: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    for start in range(0, block.num_rows, MOST_ROWS):
        yield block.slice(start, MOST_ROWS)


def _position(stream: Any) -> int:
    raw = getattr(stream, "fileobj", None) or stream
    return 0 if raw.closed else int(raw.tell())
