"""Readers of files whose names are in a queue, as graphs had before datasets."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import tensorflow as tf
from effect_case import CASES, Action, EffectCase, graph, raw, records, text

READERS: dict[str, dict[str, int]] = {
    "TextLineReader": {},
    "TFRecordReader": {},
    "WholeFileReader": {},
    "FixedLengthRecordReader": {"record_bytes": 1},
}


def read(reader: str, op: str, version: str, folder: Path) -> Action:
    """Read one record of a file whose name is in a queue."""
    path = records(folder) if reader.startswith("TFRecord") else text(folder)

    def queue() -> Any:
        return getattr(raw, f"FIFOQueue{version}")(
            component_types=[tf.string], shapes=[[]], shared_name="queue"
        )

    def enqueue() -> Any:
        return getattr(raw, f"QueueEnqueue{version}")(handle=queue(), components=[tf.constant(path)])

    def build() -> Any:
        handle = getattr(raw, reader + version)(**READERS[reader])
        more = {"num_records": 1} if "UpTo" in op else {}
        return list(getattr(raw, op + version)(reader_handle=handle, queue_handle=queue(), **more))

    return graph(build, enqueue)


for version in ("", "V2"):
    for reader in READERS:
        CASES.append(EffectCase(reader + version, functools.partial(read, reader, "ReaderRead", version)))
    for op in ("ReaderRead", "ReaderReadUpTo"):
        CASES.append(EffectCase(op + version, functools.partial(read, "WholeFileReader", op, version)))
