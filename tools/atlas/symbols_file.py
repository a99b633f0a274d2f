"""Read all of symbols.sqlite back, add or replace builds, and write it again.

    content = SymbolContent.read(SYMBOLS)
    content.add(build, exported, framework)
    content.write(SYMBOLS)

Symbols are stored as hashes (`tfport.atlas.symbols`). Each build has two bits: what all its
libraries export, and what `libtensorflow_framework` exports. Symbols with equal bits form a
group. Groups are numbered by size, the largest first, so that their numbers compress well.
"""

import sqlite3
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from atlas_file import RecordedBuild
from bits import from_bytes, insert, remove, to_bytes

from tfport.atlas.symbols import join_hash, pack_bucket, split_hash, unpack_bucket

SYMBOLS = Path(__file__).parents[2] / "src/tfport/atlas/symbols.sqlite"
MOST_GROUPS = 1 << 16
SCHEMA = """
PRAGMA page_size = 1024;
CREATE TABLE build (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE groups (id INTEGER PRIMARY KEY, builds BLOB);
CREATE TABLE bucket (id INTEGER PRIMARY KEY, body BLOB);
"""


def name_of(build: RecordedBuild) -> str:
    platform = "" if build.platform == "x86_64" else f" ({build.platform})"
    return f"{build.package}=={build.version}{platform}"


@dataclass
class SymbolContent:
    """Build names in order, and each hash with bits: builds that export it, then frameworks that do."""

    names: list[str] = field(default_factory=list)
    symbols: dict[int, int] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path = SYMBOLS) -> "SymbolContent":
        database = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        names = [name for (name,) in database.execute("SELECT name FROM build ORDER BY id")]
        groups = {n: from_bytes(bits) for n, bits in database.execute("SELECT id, builds FROM groups")}
        symbols = {
            join_hash(bucket, rest): groups[group]
            for bucket, body in database.execute("SELECT id, body FROM bucket")
            for rest, group in unpack_bucket(body).items()
        }
        database.close()
        return cls(names[: len(names) // 2], symbols)

    def exported(self, number: int) -> set[int]:
        """The hashes of all that a build exports."""
        return {hashed for hashed, bits in self.symbols.items() if bits >> number & 1}

    def exported_by_framework(self, number: int) -> set[int]:
        return self.exported(number + len(self.names))

    def insert(self, number: int, name: str, exported: set[int], framework: set[int]) -> None:
        """Insert a build with the hashes that its libraries, and its framework library, export."""
        count = len(self.names)
        self.names.insert(number, name)
        self._map(lambda bits: insert(insert(bits, number + count), number))
        for hashes, position in ((exported, number), (framework, number + count + 1)):
            for hashed in hashes:
                self.symbols[hashed] = self.symbols.get(hashed, 0) | 1 << position

    def remove(self, number: int) -> None:
        count = len(self.names)
        del self.names[number]
        self._map(lambda bits: remove(remove(bits, number + count), number))
        self.symbols = {hashed: bits for hashed, bits in self.symbols.items() if bits}

    def _map(self, change) -> None:
        """Change the bits of every symbol, once for each group."""
        changed = {bits: change(bits) for bits in set(self.symbols.values())}
        self.symbols = {hashed: changed[bits] for hashed, bits in self.symbols.items()}

    def write(self, path: Path = SYMBOLS) -> None:
        sizes = Counter(self.symbols.values())
        by_size = sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0]))
        groups = {bits: number for number, (bits, _) in enumerate(by_size)}
        if len(groups) > MOST_GROUPS:
            sys.exit(f"{len(groups)} groups; a bucket can number {MOST_GROUPS}")
        buckets: dict[int, dict[int, int]] = {}
        for hashed, bits in self.symbols.items():
            bucket, rest = split_hash(hashed)
            buckets.setdefault(bucket, {})[rest] = groups[bits]
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)
        database = sqlite3.connect(new)
        database.executescript(SCHEMA)
        names = [*self.names, *(f"{name} framework" for name in self.names)]
        database.executemany("INSERT INTO build VALUES (?, ?)", enumerate(names))
        rows = [(number, to_bytes(bits)) for bits, number in groups.items()]
        database.executemany("INSERT INTO groups VALUES (?, ?)", rows)
        packed = [(number, pack_bucket(entries)) for number, entries in sorted(buckets.items())]
        database.executemany("INSERT INTO bucket VALUES (?, ?)", packed)
        database.commit()
        database.execute("VACUUM")
        database.close()
        new.replace(path)
