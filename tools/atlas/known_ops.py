"""Write src/tfport/atlas/ops.sqlite: every op that a recorded release registers.

    python tools/atlas/known_ops.py [--cache FOLDER] [--out FILE]

One row for each op name: first and last release that has it, and the newest
definition without its prose. The same records give the same bytes.
"""

import argparse
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from records import CACHE, Record, recorded

from tfport.formats.proto.graph_pb2 import OpDef, OpList

OUT = Path(__file__).parents[2] / "src/tfport/atlas/ops.sqlite"
SCHEMA = """
PRAGMA page_size = 4096;
CREATE TABLE release (number INTEGER PRIMARY KEY, version TEXT, ops INTEGER, wheel TEXT, sha256 TEXT);
CREATE TABLE op (name TEXT PRIMARY KEY, first TEXT, last TEXT, provider TEXT, definition BLOB) WITHOUT ROWID;
"""


@dataclass
class Known:
    """One op over all releases: `provider` is the library that brings it, None TensorFlow itself."""

    first: str
    last: str
    provider: str | None
    definition: bytes


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the table of known ops.")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    records = [r for r in recorded(args.cache) if r.package == "tensorflow"]
    ops: dict[str, Known] = {}
    counts = [add(record, ops) for record in records]
    write(args.out, records, counts, ops)
    print(f"{len(ops)} ops of {len(records)} releases, {args.out.stat().st_size} bytes")


def add(record: Record, ops: dict[str, Known]) -> int:
    """Fold a release, newer than those before it, into `ops`; how many it registers by itself."""
    here: dict[str, str | None] = {}
    for provider, content in record.op_lists():
        for op in OpList.FromString(content).op:
            if op.name in here:  # TensorFlow's own come first: what a library repeats it does not bring
                continue
            here[op.name] = provider
            first = ops[op.name].first if op.name in ops else record.release
            definition = without_prose(op).SerializeToString(deterministic=True)
            ops[op.name] = Known(first, record.release, provider, definition)
    return list(here.values()).count(None)


def without_prose(op: OpDef) -> OpDef:
    """The definition as a program needs it."""
    for message in (op, *op.input_arg, *op.output_arg, *op.attr):
        message.ClearField("description")
    op.ClearField("summary")
    return op


def write(out: Path, records: list[Record], counts: list[int], ops: dict[str, Known]) -> None:
    new = out.with_suffix(".new")
    new.unlink(missing_ok=True)
    database = sqlite3.connect(new)
    database.executescript(SCHEMA)
    releases = [(r.release, n, r.wheel, r.sha256) for r, n in zip(records, counts, strict=True)]
    database.executemany("INSERT INTO release (version, ops, wheel, sha256) VALUES (?, ?, ?, ?)", releases)
    rows = [(name, op.first, op.last, op.provider, op.definition) for name, op in sorted(ops.items())]
    database.executemany("INSERT INTO op VALUES (?, ?, ?, ?, ?)", rows)
    database.commit()
    database.execute("VACUUM")
    database.close()
    new.replace(out)


if __name__ == "__main__":
    main()
