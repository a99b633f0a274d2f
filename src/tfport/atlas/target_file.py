"""A target file: one recorded build, in the format of the atlas.

`open_target_file(path)` returns an `Atlas` of one build. The file is untrusted, so all of
it is validated first. `record_target` writes such files.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from tfport.atlas.atlas import Atlas
from tfport.atlas.versions import version_key
from tfport.errors import Error, UnreadableFile
from tfport.formats.files import reason
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.formats.proto.kernel_pb2 import KernelDef, KernelList

SCHEMA = """
PRAGMA application_id = 1952870484;
CREATE TABLE build (id INTEGER PRIMARY KEY, package TEXT, version TEXT, platform TEXT, wheel TEXT,
                    sha256 TEXT, facts TEXT);
CREATE TABLE op (name TEXT, provider TEXT, definition BLOB, builds BLOB);
CREATE TABLE kernels (op TEXT, provider TEXT, kernels BLOB, builds BLOB);
CREATE TABLE newest (name TEXT PRIMARY KEY, first TEXT, last TEXT, providers TEXT, definition INTEGER)
    WITHOUT ROWID;
CREATE INDEX op_name ON op (name);
CREATE INDEX kernels_op ON kernels (op);
"""
COLUMNS = {
    "build": (int, str, str, str, str, str, str),
    "op": (str, str, bytes, bytes),
    "kernels": (str, str, bytes, bytes),
    "newest": (str, str, str, str, int),
}
ROWS = {
    "build": "SELECT id, package, version, platform, wheel, sha256, facts FROM build",
    "op": "SELECT name, provider, definition, builds FROM op",
    "kernels": "SELECT op, provider, kernels, builds FROM kernels",
    "newest": "SELECT name, first, last, providers, definition FROM newest",
}
NEWEST = """
INSERT OR IGNORE INTO newest
    SELECT name, version, version, provider, op.rowid FROM op, build ORDER BY name, provider
"""
MAGIC = b"SQLite format 3\0"
LARGEST = 256 * 2**20
LARGEST_KERNELS = 64 * 2**20
SECONDS = 10
STEPS = 10_000
FIRST = b"\x01"
"""The set of builds as bits: only the first one."""
HINT = "`tfport targets record` writes such files"


def write_target_file(
    path: Path,
    build: dict[str, str],
    facts: dict[str, object],
    ops: Iterable[tuple[str, OpDef]],
    kernels: Iterable[tuple[str, KernelDef]],
) -> None:
    """Write what one build registers; each op and kernel with the library that registers it, or ''."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMA)
        named = [build[name] for name in ("package", "version", "platform", "wheel", "sha256")]
        database.execute("INSERT INTO build VALUES (0, ?, ?, ?, ?, ?, ?)", [*named, json.dumps(facts)])
        rows = [(op.name, library, _without_prose(op), FIRST) for library, op in ops]
        database.executemany("INSERT INTO op VALUES (?, ?, ?, ?)", sorted(rows))
        database.execute(NEWEST)
        database.executemany("INSERT INTO kernels VALUES (?, ?, ?, ?)", _kernel_rows(kernels))
        database.commit()


def _without_prose(op: OpDef) -> bytes:
    bare = OpDef()
    bare.CopyFrom(op)
    for message in (bare, *bare.input_arg, *bare.output_arg, *bare.attr):
        message.ClearField("description")
    bare.ClearField("summary")
    return bare.SerializeToString(deterministic=True)


def _kernel_rows(kernels: Iterable[tuple[str, KernelDef]]) -> list[tuple[str, str, bytes, bytes]]:
    by_op: dict[tuple[str, str], dict[bytes, KernelDef]] = {}
    for library, kernel in kernels:
        body = kernel.SerializeToString(deterministic=True)
        by_op.setdefault((kernel.op, library), {})[body] = kernel
    return [
        (op, library, _packed(kernel for _, kernel in sorted(same.items())), FIRST)
        for (op, library), same in sorted(by_op.items())
    ]


def _packed(kernels: Iterable[KernelDef]) -> bytes:
    return zlib.compress(KernelList(kernel=kernels).SerializeToString(deterministic=True), 9)


def open_target_file(path: str) -> Atlas:
    """Open a target file as an atlas of one build."""
    try:
        with open(path, "rb") as file:
            head, size = file.read(len(MAGIC)), os.fstat(file.fileno()).st_size
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    if head != MAGIC:
        raise UnreadableFile(f"{path}: not a recorded target; {HINT}")
    if size > LARGEST:
        raise UnreadableFile(f"{path}: larger than {LARGEST >> 20} MB, so not a recorded target")
    try:
        _check(path)
        return Atlas(Path(path))
    except (sqlite3.Error, DecodeError, zlib.error, ValueError) as error:
        message = " ".join(str(error).split())  # SQLite quotes file content, which may contain line breaks
        raise UnreadableFile(f"{path}: damaged, or not a recorded target: {message}") from None
    except (OverflowError, RecursionError, MemoryError):
        raise UnreadableFile(f"{path}: damaged, or not a recorded target") from None


def _check(path: str) -> None:
    """Validate every row."""
    uri = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as database:
        end = time.monotonic() + SECONDS
        database.set_progress_handler(lambda: time.monotonic() > end, STEPS)
        strange = (
            "SELECT 1 FROM sqlite_master WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'"
        )
        if database.execute(strange).fetchone():
            raise UnreadableFile(f"{path}: not a recorded target: it has views or triggers")
        for table, types in COLUMNS.items():
            for row in database.execute(ROWS[table]):
                if tuple(map(type, row)) != types:
                    raise UnreadableFile(f"{path}: damaged: a row of `{table}` has values of wrong types")
                if table in _CHECKS:
                    _CHECKS[table](row, path)
        if database.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):  # the indices too
            raise UnreadableFile(f"{path}: damaged: SQLite's integrity check failed")
        (count,) = database.execute("SELECT COUNT(*) FROM build").fetchone()
        if count != 1:
            raise UnreadableFile(f"{path}: expected one build in a recorded target, found {count}")


def _check_build(row: tuple[int, str, str, str, str, str, str], path: str) -> None:
    if row[0]:
        raise UnreadableFile(f"{path}: damaged: the build has number {row[0]}, expected 0")
    try:
        version_key(row[2])
    except Error as error:
        raise UnreadableFile(f"{path}: {error}") from None
    if not isinstance(json.loads(row[-1]), dict):
        raise UnreadableFile(f"{path}: damaged: the facts of the build are not a JSON object")


def _check_op(row: tuple[str, str, bytes, bytes], path: str) -> None:
    if OpDef.FromString(row[2]).name != row[0]:
        raise UnreadableFile(f"{path}: damaged: the definition of {row[0]!r} belongs to another op")


def _check_kernels(row: tuple[str, str, bytes, bytes], path: str) -> None:
    unpacker = zlib.decompressobj()
    body = unpacker.decompress(row[2], LARGEST_KERNELS)
    if not unpacker.eof or any(kernel.op != row[0] for kernel in KernelList.FromString(body).kernel):
        raise UnreadableFile(
            f"{path}: damaged: the kernels of {row[0]!r} belong to another op, or are truncated"
        )


_CHECKS: dict[str, Callable[[Any, str], None]] = {
    "build": _check_build,
    "op": _check_op,
    "kernels": _check_kernels,
}
