"""Write src/tfport/atlas/atlas.sqlite from what was recorded.

    python tools/atlas/build.py [--records FOLDER …] [--out FILE]

A definition, or the kernels of an op, that many builds have alike stands once,
with the builds as bits. The same records give the same bytes.
"""

import argparse
import json
import re
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

from tfport.atlas.atlas import ARM, TENSORFLOWS, X86
from tfport.formats.proto.graph_pb2 import OpDef, OpList
from tfport.formats.proto.kernel_pb2 import KernelDef, KernelList

OUT = Path(__file__).parents[2] / "src/tfport/atlas/atlas.sqlite"
RECORDS = [Path("~/.cache/tfport/atlas").expanduser(), Path("~/.cache/tfport/atlas-addons").expanduser()]
SCHEMA = """
PRAGMA page_size = 4096;
CREATE TABLE build (id INTEGER PRIMARY KEY, package TEXT, version TEXT, platform TEXT, wheel TEXT,
                    sha256 TEXT, facts TEXT);
CREATE TABLE op (name TEXT, provider TEXT, definition BLOB, builds BLOB);
CREATE TABLE kernels (op TEXT, provider TEXT, kernels BLOB, builds BLOB);
CREATE TABLE newest (name TEXT PRIMARY KEY, first TEXT, last TEXT, providers TEXT, definition INTEGER)
    WITHOUT ROWID;
"""
PINS = re.compile(r"(numpy|protobuf|keras|tf-keras|ml-dtypes|h5py|tensorboard|tensorflow[-_]estimator)\b")
INDICES = "CREATE INDEX op_name ON op (name); CREATE INDEX kernels_op ON kernels (op);"
Shared = dict[tuple[str, str, bytes], int]
"""(op, provider, content) → the builds that have it, as bits."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the atlas from the records.")
    parser.add_argument("--records", type=Path, nargs="+", default=RECORDS)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    everything = (p.parent for r in args.records for p in r.glob("*/record.json"))
    folders = sorted(filter(registers, everything), key=order)
    ops: Shared = {}
    kernels: Shared = {}
    builds = []
    for number, folder in enumerate(folders):
        print(f"\r{number + 1}/{len(folders)} {folder.name:60}", end="", file=sys.stderr)
        builds.append((number, *add(folder, 1 << number, ops, kernels)))
    write(args.out, builds, ops, kernels)
    print(f"\n{len(builds)} builds, {args.out.stat().st_size:,} bytes", file=sys.stderr)


def read(folder: Path) -> dict:
    record = json.loads((folder / "record.json").read_text())
    platform = (
        ARM if ARM in record.get("platform", X86) else X86
    )  # a wheel without code of its own runs on both
    return {"version": record.get("release"), **record, "platform": platform}


def registers(folder: Path) -> bool:
    """Whether it brings anything: an add-on without ops, or whose libraries do not load, tells nothing."""
    return bool(read(folder).get("alias_of")) or any(definitions(folder)) or any(kernel_sets(folder))


def order(folder: Path) -> tuple:
    record = read(folder)
    return record["package"], Version(record["version"]), record["platform"]


def add(folder: Path, bit: int, ops: Shared, kernels: Shared) -> tuple[str, ...]:
    """Fold one build into what is shared; its row."""
    record = read(folder)
    source = folder.with_name(record["alias_of"]) if record.get("alias_of") else folder
    own = {op.name for op in op_list(source / "ops.pb")}
    for provider, op in definitions(source):
        if not provider or op.name not in own:  # what a library repeats it does not bring
            key = op.name, provider, without_prose(op).SerializeToString(deterministic=True)
            ops[key] = ops.get(key, 0) | bit
    for provider, op, found in kernel_sets(source):
        body = KernelList(kernel=found).SerializeToString(deterministic=True)
        kernels[op, provider, body] = kernels.get((op, provider, body), 0) | bit
    named = ("package", "version", "platform", "wheel", "sha256")
    return (*(record[name] for name in named), json.dumps(facts(folder, record), sort_keys=True))


def facts(folder: Path, record: dict) -> dict:
    """What the wheel's files say, and what the record says beside its registry."""
    file = folder / "facts.json"
    told = json.loads(file.read_text()) if file.exists() else {}
    told["requires"] = [r for r in told.get("requires", []) if PINS.match(r)]
    for name in ("alias_of", "kernels_partial", "requires_tensorflow", "tried_with", "refused"):
        if record.get(name):
            told[name] = record[name]
    return told


def op_list(path: Path) -> list[OpDef]:
    return list(OpList.FromString(path.read_bytes()).op) if path.exists() else []


def definitions(folder: Path) -> Iterator[tuple[str, OpDef]]:
    """Each op with the library that brings it; an empty name is the package itself."""
    for op in op_list(folder / "ops.pb"):
        yield "", op
    libraries = folder / "libraries"
    for path in sorted(libraries.rglob("*.so.pb")):
        for op in op_list(path):
            yield str(path.relative_to(libraries)).removesuffix(".pb"), op


def kernel_sets(folder: Path) -> Iterator[tuple[str, str, list[KernelDef]]]:
    """The kernels that each library brings, by op; those of a session count as the package's own."""
    files = [("", folder / name) for name in ("kernels.pb", "kernels_session.pb")]
    libraries = folder / "libraries"
    found: dict[tuple[str, str], list[tuple[bytes, KernelDef]]] = {}
    files += [
        (str(path.relative_to(libraries)).removesuffix(".kernels.pb"), path)
        for path in sorted(libraries.rglob("*.kernels.pb"))
    ]
    for provider, path in files:
        if path.exists():
            for kernel in KernelList.FromString(path.read_bytes()).kernel:
                body = kernel.SerializeToString(deterministic=True)
                found.setdefault((kernel.op, provider), []).append((body, kernel))
    for (op, provider), kernels in sorted(found.items()):
        yield provider, op, [kernel for _, kernel in sorted(kernels, key=lambda pair: pair[0])]


def without_prose(op: OpDef) -> OpDef:
    """The definition as a program needs it."""
    for message in (op, *op.input_arg, *op.output_arg, *op.attr):
        message.ClearField("description")
    op.ClearField("summary")
    return op


def write(out: Path, builds: list[tuple], ops: Shared, kernels: Shared) -> None:
    new = out.with_suffix(".new")
    new.unlink(missing_ok=True)
    database = sqlite3.connect(new)
    database.executescript(SCHEMA)
    database.executemany("INSERT INTO build VALUES (?, ?, ?, ?, ?, ?, ?)", builds)
    rows = [(*key, bits) for key, bits in sorted(ops.items())]
    database.executemany(
        "INSERT INTO op VALUES (?, ?, ?, ?)", [(*key, as_bytes(bits)) for *key, bits in rows]
    )
    database.executemany(
        "INSERT INTO kernels VALUES (?, ?, ?, ?)",
        [
            (op, lib, zlib.compress(body, 9), as_bytes(bits))
            for (op, lib, body), bits in sorted(kernels.items())
        ],
    )
    database.executemany("INSERT INTO newest VALUES (?, ?, ?, ?, ?)", newest(builds, rows))
    database.executescript(INDICES)
    database.commit()
    database.execute("VACUUM")
    database.close()
    new.replace(out)


def as_bytes(bits: int) -> bytes:
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def newest(builds: list[tuple], rows: list[tuple]) -> Iterator[tuple]:
    """For each op: first and last release of TensorFlow with it, who brings it, and its newest definition."""
    by_name: dict[str, list[tuple[int, tuple]]] = {}
    for rowid, row in enumerate(rows, 1):
        by_name.setdefault(row[0], []).append((rowid, row))
    stock = [b for b in builds if b[1] == "tensorflow" and b[3] == X86]
    for name, found in sorted(by_name.items()):
        releases = [b[2] for b in stock if any(bits >> b[0] & 1 for _, (_, _, _, bits) in found)]
        itself = any(not lib and bits >> b[0] & 1 for b in stock for _, (_, lib, _, bits) in found)
        brings = sorted(
            {provider(b, lib) for b in builds for _, (_, lib, _, bits) in found if bits >> b[0] & 1}
        )
        best = max(
            found,
            key=lambda pair: (max((b[0] for b in stock if pair[1][3] >> b[0] & 1), default=-1), pair[1][3]),
        )
        first, last = (releases[0], releases[-1]) if releases else ("", "")
        yield name, first, last, "" if itself else "\n".join(b for b in brings if b), best[0]


def provider(build: tuple, library: str) -> str:
    """The add-on package, or the library of TensorFlow's own wheel."""
    return library if build[1] in TENSORFLOWS else build[1]


if __name__ == "__main__":
    main()
