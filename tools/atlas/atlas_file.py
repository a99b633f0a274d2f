"""Read all of atlas.sqlite back, add or replace builds, and write it again.

    content = AtlasContent.read(ATLAS)
    content.add(build, registry)
    content.write(ATLAS)

The file is the only store of what was recorded: reading and writing it changes nothing
(`tests/atlas/test_store.py`). A definition, or the kernels of an op, that many builds
share is stored once, with its builds as bits. The same content gives the same bytes.
"""

import json
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bits import from_bytes, insert, remove, to_bytes
from packaging.version import Version

from tfport.atlas.atlas import TENSORFLOWS, X86

ATLAS = Path(__file__).parents[2] / "src/tfport/atlas/atlas.sqlite"
SCHEMA = """
PRAGMA page_size = 4096;
CREATE TABLE build (id INTEGER PRIMARY KEY, package TEXT, version TEXT, platform TEXT, wheel TEXT,
                    sha256 TEXT, facts TEXT);
CREATE TABLE op (name TEXT, provider TEXT, definition BLOB, builds BLOB);
CREATE TABLE kernels (op TEXT, provider TEXT, kernels BLOB, builds BLOB);
CREATE TABLE newest (name TEXT PRIMARY KEY, first TEXT, last TEXT, providers TEXT, definition INTEGER)
    WITHOUT ROWID;
"""
INDICES = "CREATE INDEX op_name ON op (name); CREATE INDEX kernels_op ON kernels (op);"
Key = tuple[str, str, bytes]
"""Op, provider (the library that registers it; empty for the package itself) and serialized content."""


@dataclass(frozen=True)
class RecordedBuild:
    """A row of the table of builds."""

    package: str
    version: str
    platform: str
    wheel: str
    sha256: str
    facts: str
    """JSON with sorted keys."""

    @property
    def order(self) -> tuple:
        return self.package, Version(self.version), self.platform

    @property
    def alias_of(self) -> str | None:
        """The record name of the build with the same registry, if it was recorded as its alias."""
        return json.loads(self.facts).get("alias_of")

    @property
    def record_name(self) -> str:
        """The name of its record folder, which `alias_of` uses too."""
        return record_name(self.package, self.version, self.platform)


def record_name(package: str, version: str, platform: str = X86) -> str:
    return "-".join([package, version, *([platform] if platform != X86 else [])])


@dataclass(frozen=True)
class RecordedRegistry:
    """What one build registers: definitions without prose, and the kernels of each op."""

    ops: frozenset[Key]
    kernels: frozenset[Key]


@dataclass
class AtlasContent:
    """Every build in order, and every definition and set of kernels with the builds that have it."""

    builds: list[RecordedBuild] = field(default_factory=list)
    ops: dict[Key, int] = field(default_factory=dict)
    kernels: dict[Key, int] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path = ATLAS) -> "AtlasContent":
        database = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        query = "SELECT package, version, platform, wheel, sha256, facts FROM build ORDER BY id"
        builds = [RecordedBuild(*row) for row in database.execute(query)]
        ops = {
            (name, provider, body): from_bytes(bits)
            for name, provider, body, bits in database.execute(
                "SELECT name, provider, definition, builds FROM op"
            )
        }
        kernels = {
            (op, provider, zlib.decompress(body)): from_bytes(bits)
            for op, provider, body, bits in database.execute(
                "SELECT op, provider, kernels, builds FROM kernels"
            )
        }
        database.close()
        return cls(builds, ops, kernels)

    def find(self, name: str) -> int | None:
        """The number of a build by its record name."""
        return next((n for n, build in enumerate(self.builds) if build.record_name == name), None)

    def registry(self, number: int) -> RecordedRegistry:
        """What a build registers."""
        ops = frozenset(key for key, bits in self.ops.items() if bits >> number & 1)
        return RecordedRegistry(
            ops, frozenset(key for key, bits in self.kernels.items() if bits >> number & 1)
        )

    def add(self, build: RecordedBuild, registry: RecordedRegistry) -> None:
        """Add a build in its place; replace the one of the same package, version and platform."""
        if (number := self.find(build.record_name)) is not None:
            self.remove(number)
        number = sum(other.order < build.order for other in self.builds)
        self.builds.insert(number, build)
        for table, keys in ((self.ops, registry.ops), (self.kernels, registry.kernels)):
            for key in table:
                table[key] = insert(table[key], number)
            for key in keys:
                table[key] = table.get(key, 0) | 1 << number

    def remove(self, number: int) -> None:
        del self.builds[number]
        for table in (self.ops, self.kernels):
            for key in list(table):
                table[key] = remove(table[key], number)
                if not table[key]:
                    del table[key]

    def write(self, path: Path = ATLAS) -> None:
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)
        database = sqlite3.connect(new)
        database.executescript(SCHEMA)
        database.executemany("INSERT INTO build VALUES (?, ?, ?, ?, ?, ?, ?)", self._build_rows())
        rows = [(*key, to_bytes(bits)) for key, bits in sorted(self.ops.items())]
        database.executemany("INSERT INTO op VALUES (?, ?, ?, ?)", rows)
        database.executemany("INSERT INTO kernels VALUES (?, ?, ?, ?)", self._kernel_rows())
        database.executemany("INSERT INTO newest VALUES (?, ?, ?, ?, ?)", self._newest_rows())
        database.executescript(INDICES)
        database.commit()
        database.execute("VACUUM")
        database.close()
        new.replace(path)

    def _build_rows(self) -> Iterator[tuple]:
        for number, b in enumerate(self.builds):
            yield number, b.package, b.version, b.platform, b.wheel, b.sha256, b.facts

    def _kernel_rows(self) -> Iterator[tuple]:
        for (op, provider, body), bits in sorted(self.kernels.items()):
            yield op, provider, zlib.compress(body, 9), to_bytes(bits)

    def _newest_rows(self) -> Iterator[tuple]:
        """For each op: first and last TensorFlow release with it, its providers, its newest definition."""
        rows_of: dict[str, list[tuple[int, str, int]]] = {}
        for rowid, ((name, provider, _), bits) in enumerate(sorted(self.ops.items()), 1):
            rows_of.setdefault(name, []).append((rowid, provider, bits))
        stock = [n for n, b in enumerate(self.builds) if (b.package, b.platform) == ("tensorflow", X86)]
        stock_bits = sum(1 << n for n in stock)
        for name, rows in sorted(rows_of.items()):
            anywhere = 0
            for _, _, bits in rows:
                anywhere |= bits
            releases = [self.builds[n].version for n in stock if anywhere >> n & 1]
            is_stock = any(not provider and bits & stock_bits for _, provider, bits in rows)
            providers = "" if is_stock else "\n".join(sorted(self._providers(rows) - {""}))
            newest, _, _ = max(rows, key=lambda row: ((row[2] & stock_bits).bit_length(), row[2]))
            first, last = (releases[0], releases[-1]) if releases else ("", "")
            yield name, first, last, providers, newest

    def _providers(self, rows: list[tuple[int, str, int]]) -> set[str]:
        """The add-on packages, or the libraries of TensorFlow's own wheel, that register an op."""
        return {
            provider if build.package in TENSORFLOWS else build.package
            for _, provider, bits in rows
            for number, build in enumerate(self.builds)
            if bits >> number & 1
        }


def sorted_json(value: dict) -> str:
    return json.dumps(value, sort_keys=True)
