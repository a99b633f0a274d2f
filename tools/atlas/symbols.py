"""Write src/tfport/atlas/symbols.sqlite from what was recorded.

    python tools/atlas/symbols.py [--records FOLDER] [--out FILE]

Groups are numbered by size, the largest first, so that their numbers compress.
"""

import argparse
import functools
import sqlite3
import sys
import zlib
from collections import Counter
from pathlib import Path

from build import RECORDS, as_bytes, order, read

from tfport.atlas.symbols import pack_bucket, split_hash, symbol_hash

OUT = Path(__file__).parents[2] / "src/tfport/atlas/symbols.sqlite"
SCHEMA = """
PRAGMA page_size = 1024;
CREATE TABLE build (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE groups (id INTEGER PRIMARY KEY, builds BLOB);
CREATE TABLE bucket (id INTEGER PRIMARY KEY, body BLOB);
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the exported symbols from the records.")
    parser.add_argument("--records", type=Path, default=RECORDS[0])
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    folders = sorted((p.parent for p in args.records.glob("*/record.json")), key=order)
    builds: dict[int, int] = {}
    for number, folder in enumerate(folders):
        print(f"\r{number + 1}/{len(folders)} {folder.name:40}", end="", file=sys.stderr)
        for hashed in exported(folder):
            builds[hashed] = builds.get(hashed, 0) | 1 << number
        for hashed in exported(folder, "libtensorflow_framework.so*.z"):
            builds[hashed] |= 1 << number + len(folders)
    names = [name(folder) for folder in folders]
    write(args.out, [*names, *(f"{name} framework" for name in names)], builds)
    print(
        f"\n{len(builds):,} symbols of {len(folders)} builds, {args.out.stat().st_size:,} bytes",
        file=sys.stderr,
    )


def exported(folder: Path, pattern: str = "*.z") -> set[int]:
    """The hashes of all that the libraries of a build export; an alias exports what its twin does."""
    own = folder if (folder / "symbols").exists() else folder.with_name(read(folder)["alias_of"])
    return hashes(own / "symbols", pattern)


@functools.lru_cache(8)
def hashes(folder: Path, pattern: str) -> set[int]:
    return {
        symbol_hash(s) for file in folder.glob(pattern) for s in zlib.decompress(file.read_bytes()).split()
    }


def name(folder: Path) -> str:
    record = read(folder)
    platform = "" if record["platform"] == "x86_64" else f" ({record['platform']})"
    return f"{record['package']}=={record['version']}{platform}"


def write(out: Path, names: list[str], builds: dict[int, int]) -> None:
    sizes = Counter(builds.values())
    groups = {
        bits: number for number, (bits, _) in enumerate(sorted(sizes.items(), key=lambda p: (-p[1], p[0])))
    }
    if len(groups) > 1 << 16:
        sys.exit(f"{len(groups)} groups are more than a bucket can number")
    buckets: dict[int, dict[int, int]] = {}
    for hashed, bits in builds.items():
        bucket, rest = split_hash(hashed)
        buckets.setdefault(bucket, {})[rest] = groups[bits]
    new = out.with_suffix(".new")
    new.unlink(missing_ok=True)
    database = sqlite3.connect(new)
    database.executescript(SCHEMA)
    database.executemany("INSERT INTO build VALUES (?, ?)", enumerate(names))
    database.executemany(
        "INSERT INTO groups VALUES (?, ?)", [(n, as_bytes(bits)) for bits, n in groups.items()]
    )
    database.executemany(
        "INSERT INTO bucket VALUES (?, ?)", [(n, pack_bucket(b)) for n, b in sorted(buckets.items())]
    )
    database.commit()
    database.execute("VACUUM")
    database.close()
    new.replace(out)


if __name__ == "__main__":
    main()
