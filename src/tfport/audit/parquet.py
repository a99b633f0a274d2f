"""The results of an audit as a Parquet file: a row for each model and target.

Rows are written when the audit is complete. What makes it resumable is the SQLite file beside it.
"""

from __future__ import annotations

import os
from typing import Any

from tfport.audit.database import AuditDatabase
from tfport.extras import optional_module

PARQUET = ".parquet"
ROWS = 10_000
"""Rows of a row group."""
QUERY = """
SELECT models.path, name, version, owner, status, format, producer, bytes, error, target, verdict, stage,
  rewrite,
  (SELECT json_group_array(code || ' ' || subject) FROM causes
   WHERE causes.path = models.path AND causes.target = results.target) AS causes,
  (SELECT COUNT(*) FROM risks WHERE risks.path = models.path) AS risks, signatures, seconds, cpu_seconds
FROM models LEFT JOIN results USING (path) ORDER BY models.path, target
"""
NUMBERS = {"bytes": "int64", "risks": "int64", "seconds": "float64", "cpu_seconds": "float64"}


def database_beside(output: str) -> str:
    """The SQLite file of an output."""
    return f"{output}.sqlite" if output.endswith(PARQUET) else output


def check_pyarrow(output: str) -> None:
    """Raise an error if Parquet cannot be written."""
    optional_module("pyarrow.parquet", f"{output}: Parquet")


def write_parquet(database: AuditDatabase, path: str) -> None:
    """Write the results to a file; an existing one is replaced."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = database.connection.execute(QUERY)
    names = [column[0] for column in rows.description]
    schema = pa.schema([(name, NUMBERS.get(name, "string")) for name in names])
    part = f"{path}.part"
    with parquet.ParquetWriter(part, schema) as writer:
        while group := rows.fetchmany(ROWS):
            columns: list[list[Any]] = [list(column) for column in zip(*group, strict=True)]
            writer.write_table(pa.table(columns, schema=schema))
    os.replace(part, path)
