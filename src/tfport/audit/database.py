"""The results of an audit in one SQLite file: written as models are examined, and read for the summary.

A folder is done when the rows of all of its models are written, in one transaction: an audit that was
interrupted continues with the folders that are not done, and a later one examines only those whose stamp
changed. When it is complete, it can be written as a Parquet file too, with a row for each model and target;
the SQLite file beside that one is what makes it resumable.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tfport.audit.examine import Row
from tfport.audit.store import ModelFolder
from tfport.errors import Error
from tfport.extras import optional_module

LAYOUT = "1"
TABLES = """
CREATE TABLE IF NOT EXISTS audit (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS folders (
  path TEXT PRIMARY KEY, stamp TEXT, done INTEGER, run INTEGER, owner TEXT, name TEXT, version TEXT,
  files TEXT);
CREATE TABLE IF NOT EXISTS models (
  path TEXT PRIMARY KEY, folder TEXT, name TEXT, version TEXT, owner TEXT, status TEXT, format TEXT,
  producer TEXT, bytes INTEGER, error TEXT, signatures TEXT, seconds REAL, cpu_seconds REAL, examined REAL);
CREATE TABLE IF NOT EXISTS results (
  path TEXT, target TEXT, verdict TEXT, stage TEXT, loaders TEXT, rewrite TEXT, rewrite_reasons TEXT,
  PRIMARY KEY (path, target)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS causes (
  path TEXT, target TEXT, code TEXT, subject TEXT, stage TEXT, message TEXT,
  PRIMARY KEY (path, target, code, subject)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS risks (path TEXT, code TEXT, severity TEXT, message TEXT, moment TEXT);
CREATE INDEX IF NOT EXISTS models_by_folder ON models (folder);
CREATE INDEX IF NOT EXISTS models_by_name ON models (name);
CREATE INDEX IF NOT EXISTS risks_by_path ON risks (path);
"""
OF_MODELS = ("results", "causes", "risks", "models")
PENDING = "done = 0 AND run = (SELECT value FROM audit WHERE key = 'run')"
BATCH = 500
"""Folders that are read at a time."""


class AuditDatabase:
    """The file of an audit."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.connection = sqlite3.connect(path, isolation_level=None)
            self.connection.execute("PRAGMA journal_mode = WAL")
            self.connection.execute("PRAGMA synchronous = NORMAL")
            self.connection.executescript(TABLES)
        except sqlite3.Error as error:
            raise Error(f"{path}: {error}; expected a file of `tfport audit`, or a new one") from None
        if self.value("layout") not in (None, LAYOUT):
            raise Error(f"{path}: written by another version of tfport; name a new file")
        self.set("layout", LAYOUT)

    def close(self) -> None:
        """Close it, so that everything is in the one file."""
        self.connection.execute("PRAGMA journal_mode = DELETE")
        self.connection.close()

    def value(self, key: str) -> str | None:
        row = self.connection.execute("SELECT value FROM audit WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set(self, key: str, value: str) -> None:
        self.connection.execute("INSERT OR REPLACE INTO audit VALUES (?, ?)", (key, value))

    def begin(self, questions: str, stores: Sequence[str], targets: Sequence[str]) -> bool:
        """Start a run. What other questions answered is examined again; returns whether nothing was."""
        same = self.value("questions") in (None, questions)
        if not same:
            self.connection.execute("UPDATE folders SET done = 0")
        self.set("questions", questions)
        self.set("stores", json.dumps(list(stores)))
        self.set("targets", json.dumps(list(targets)))
        self.set("run", str(int(self.value("run") or 0) + 1))
        self.set("complete", "0")
        return same

    def add_folders(self, folders: Iterable[ModelFolder]) -> Iterator[int]:
        """Note the folders of the store; yields how many so far."""
        run = int(self.value("run") or 0)
        self.connection.execute("BEGIN")
        try:
            for number, folder in enumerate(folders, 1):
                self.connection.execute(
                    "INSERT INTO folders VALUES (?, ?, 0, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET "
                    "done = done AND stamp = excluded.stamp, stamp = excluded.stamp, run = excluded.run, "
                    "owner = excluded.owner, name = excluded.name, version = excluded.version, "
                    "files = excluded.files",
                    (
                        folder.path, folder.stamp, run, folder.owner, folder.name, folder.version,
                        json.dumps(folder.files),
                    ),
                )  # fmt: skip
                yield number
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        for (path,) in self.connection.execute("SELECT path FROM folders WHERE run != ?", (run,)).fetchall():
            self._remove(path)
            self.connection.execute("DELETE FROM folders WHERE path = ?", (path,))
        self.connection.execute("COMMIT")

    @property
    def counts(self) -> tuple[int, int]:
        """How many folders there are, and how many of them are not done."""
        total, pending = self.connection.execute(
            f"SELECT COUNT(*), COALESCE(SUM({PENDING}), 0) FROM folders"
        ).fetchone()
        return int(total), int(pending)

    def pending(self) -> Iterator[ModelFolder]:
        """The folders that are not done, in the order of their paths."""
        last = ""
        while True:
            rows = self.connection.execute(
                f"SELECT path, files, stamp, owner, name, version FROM folders WHERE path > ? AND {PENDING} "
                "ORDER BY path LIMIT ?",
                (last, BATCH),
            ).fetchall()
            for path, files, *rest in rows:
                yield ModelFolder(path, json.loads(files), *rest)
            if not rows:
                return
            last = rows[-1][0]

    def finish(self, folder: ModelFolder, rows: Sequence[Row]) -> None:
        """Write the models of a folder, in place of what was written before."""
        self.connection.execute("BEGIN")
        self._remove(folder.path)
        for row in rows:
            self._add(folder, row)
        self.connection.execute("UPDATE folders SET done = 1 WHERE path = ?", (folder.path,))
        self.connection.execute("COMMIT")

    def _remove(self, folder: str) -> None:
        for table in OF_MODELS:
            self.connection.execute(
                f"DELETE FROM {table} WHERE path IN (SELECT path FROM models WHERE folder = ?)", (folder,)
            )

    def _add(self, folder: ModelFolder, row: Row) -> None:
        path = row["path"]
        model = [
            row.get(key)
            for key in ("name", "version", "owner", "status", "format", "producer", "bytes", "error")
        ]
        self._insert(
            "models",
            path, folder.path, *model, json.dumps(row.get("signatures", {})), row.get("seconds"),
            row.get("cpu_seconds"), time.time(),
        )  # fmt: skip
        for result in row.get("results", ()):
            self._insert(
                "results",
                path, result["target"], result["verdict"], result["stage"], json.dumps(result["loaders"]),
                result.get("rewrite"), json.dumps(result.get("rewrite_reasons", [])),
            )  # fmt: skip
            for cause in result["causes"]:
                values = [cause[key] for key in ("code", "subject", "stage", "message")]
                self._insert("causes", path, result["target"], *values)
        for risk in row.get("risks", ()):
            self._insert("risks", path, *(risk[key] for key in ("code", "severity", "message", "moment")))

    def _insert(self, table: str, *values: Any) -> None:
        marks = ", ".join("?" * len(values))
        safe = [_storable(value) for value in values]
        self.connection.execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", safe)


def _storable(value: Any) -> Any:
    """A value that SQLite stores: file names may have bytes that are not UTF-8."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def existing_database(path: str) -> AuditDatabase:
    """The database of an earlier audit."""
    if not Path(path).is_file():
        raise Error(f"{path}: no such file; expected the -o of an earlier `tfport audit`")
    return AuditDatabase(path)


# As a Parquet file.

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
