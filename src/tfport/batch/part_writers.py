"""Write parts of the results: Parquet, TFRecord with Examples, CSV or JSON lines.

    with part_writer("parquet", schema, path) as write:
        write(record_batch)

Lists are JSON in CSV files, and bytes base64 in CSV and `{"b64": …}` in JSON lines. An Example
leaves nulls out.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tfport.batch.data_files import CSV, JSON_LINES, PARQUET, TFRECORD
from tfport.formats.encoding.tfrecord import record
from tfport.formats.proto import serving_pb2 as pb

FORMATS = (PARQUET, TFRECORD, CSV, JSON_LINES)
Write = Callable[[pa.RecordBatch], None]


@contextmanager
def part_writer(name: str, schema: pa.Schema, path: Path) -> Iterator[Write]:
    """Open a new file for results."""
    if name == PARQUET:
        with pq.ParquetWriter(str(path), schema) as writer:
            yield writer.write_batch
    elif name == CSV:
        flat = pa.schema([pa.field(field.name, _flat(field.type)) for field in schema])
        with pa_csv.CSVWriter(str(path), flat) as writer:
            yield lambda batch: writer.write_batch(_flattened(batch, flat))
    else:
        encode = _example if name == TFRECORD else _line
        with open(path, "xb") as file:
            yield lambda batch: file.writelines(map(encode, batch.to_pylist()))


def _flat(kind: pa.DataType) -> pa.DataType:
    nested = pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return pa.string() if nested else kind


def _flattened(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        if column.type != field.type:
            column = pa.array([_text(value) for value in column.to_pylist()], pa.string())
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return base64.b64encode(value).decode() if isinstance(value, bytes) else json.dumps(_plain(value))


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps({name: _plain(value) for name, value in row.items()}).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(element) for element in value]
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such numbers
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _example(row: dict[str, Any]) -> bytes:
    example = pb.Example()
    for name, value in row.items():
        if value is None:
            continue
        values, feature = list(_flat_values(value)), example.features.feature[name]
        if all(isinstance(v, bool | int) for v in values) and values:
            feature.int64_list.value.extend(map(int, values))
        elif all(isinstance(v, bool | int | float) for v in values):
            feature.float_list.value.extend(map(float, values))
        else:
            texts = (v if isinstance(v, bytes) else str(v).encode() for v in values)
            feature.bytes_list.value.extend(texts)
    return record(example.SerializeToString())


def _flat_values(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for element in value:
            yield from _flat_values(element)
    elif value is not None:
        yield value
