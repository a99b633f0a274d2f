"""Recorded registries: the builds, what each registers, and the definitions of an op over time.

All of it is in one file, `atlas.sqlite`. A definition, or the kernels of an op, that many
builds share is stored once, with the builds as bits. Rows are decoded on demand.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Callable, Collection, Iterable
from typing import Any, Generic, TypeVar

from tfport.atlas.versions import version_key
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.formats.proto.kernel_pb2 import KernelList
from tfport.registry.kernels import Kernel, kernels_from
from tfport.startup.dataclass import dataclass, field

X86, ARM = "x86_64", "aarch64"
T = TypeVar("T")


@dataclass(frozen=True)
class Build:
    """One recorded wheel, and facts from its files."""

    number: int
    package: str
    version: str
    platform: str
    wheel: str
    sha256: str
    atlas: Atlas = field(repr=False, hash=False, compare=False)

    @functools.cached_property
    def facts(self) -> dict[str, Any]:
        """CUDA, ABI, GLIBC, Python versions and so on; a fact that could not be read is missing."""
        ((facts,),) = self.atlas.rows("SELECT facts FROM build WHERE id = ?", self.number)
        return dict(json.loads(facts))

    @property
    def name(self) -> str:
        """The name for people: `tensorflow 2.8.4`."""
        return f"{self.package} {self.version}" + ("" if self.platform == X86 else f" ({self.platform})")

    @property
    def requirement(self) -> str:
        """The pip requirement: `tensorflow==2.8.4`."""
        return f"{self.package}=={self.version}"

    @property
    def is_tensorflow(self) -> bool:
        """Whether this is TensorFlow itself, not an add-on."""
        return self.package in TENSORFLOWS


TENSORFLOWS = ("tensorflow", "tensorflow-cpu", "tensorflow-cpu-aws", "tensorflow-gpu")


@dataclass(frozen=True, slots=True)
class OpVersion:
    """A definition or set of kernels of an op, and the builds that share it."""

    builds: list[Build]
    provider: str
    """The library of the wheel that registers it when imported; empty for the package itself."""
    definition: OpDef | None = None
    kernels: list[Kernel] = field(default_factory=list)


class Row(Generic[T]):
    """A row that several builds share: decoded on first use, then the same object for all of them."""

    __slots__ = ("_body", "_decode", "_read", "builds", "mask", "provider")

    def __init__(self, provider: str, builds: bytes, body: bytes, decode: Callable[[bytes], T]) -> None:
        self.provider = provider
        self.builds = builds
        self.mask = int.from_bytes(builds, "little")
        """The same as a number with a bit for each build."""
        self._body = body
        self._decode = decode
        self._read: T | None = None

    def read(self) -> T:
        if self._read is None:
            self._read = self._decode(self._body)
        return self._read


class Atlas:
    """The recorded builds; thread-safe."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # one connection and one lock: a lookup takes microseconds
        self._database = open_database(path)
        weakref.finalize(self, self._database.close)
        self._lock = threading.Lock()
        self._definitions: dict[str, list[Row[OpDef]]] = {}
        self._kernels: dict[str, list[Row[list[Kernel]]]] = {}
        self._sets: dict[bytes, list[Build]] = {}
        self._decoded: dict[int, Build] = {}
        self._sources: dict[int, RecordedSource] = {}
        self._sorted: dict[tuple[str | None, str | None], list[Build]] = {}

    @functools.cached_property
    def _builds(self) -> dict[int, Build]:
        return {build.number: build for build in self._matching(None, None)}

    def _matching(self, package: str | None, platform: str | None) -> list[Build]:
        """The builds of a package and a platform, None for any."""
        rows = (row for row in self._build_rows if package in (None, row[1]) and platform in (None, row[3]))
        return [self._build(*row) for row in rows]

    def _build(self, number: int, *columns: Any) -> Build:
        build = self._decoded.get(number)
        if build is None:
            package, version, platform, wheel, sha256 = columns
            build = Build(number, package, version, platform, wheel, sha256, atlas=self)
            build = self._decoded.setdefault(number, build)
        return build

    @functools.cached_property
    def _build_rows(self) -> list[tuple[Any, ...]]:
        return self.rows("SELECT id, package, version, platform, wheel, sha256 FROM build")

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._database.execute(query, values).fetchall()

    def builds(self, package: str | None = None, platform: str | None = X86) -> list[Build]:
        """Return the builds of a package (default: all), the oldest first."""
        if (package, platform) not in self._sorted:
            builds = self._matching(package, platform)
            order = sorted(builds, key=lambda b: (b.package, version_key(b.version), b.platform))
            self._sorted[package, platform] = order
        return list(self._sorted[package, platform])

    def packages(self) -> list[str]:
        return sorted({row[1] for row in self._build_rows})

    def find(self, package: str, version: str, platform: str = X86) -> Build | None:
        """Return the build of exactly this version, or None."""
        wanted = version_key(version)
        builds = self._matching(package, platform)
        return next((build for build in builds if version_key(build.version) == wanted), None)

    def source(self, build: Build) -> RecordedSource:
        """Return what a build registers: the same object for a build, whose answers are kept."""
        if build.number not in self._sources:
            self._sources[build.number] = RecordedSource(self, build)
        return self._sources[build.number]

    def op_names(self) -> list[str]:
        return [name for (name,) in self.rows("SELECT DISTINCT name FROM op ORDER BY name")]

    def definitions(self, op: str) -> list[OpVersion]:
        """Return every definition of an op, each with its builds."""
        return [
            OpVersion(self._builds_in(row.builds), row.provider, definition=row.read())
            for row in self.definition_rows(op)
        ]

    def kernel_sets(self, op: str) -> list[OpVersion]:
        """Return every set of kernels of an op, each with its builds."""
        return [
            OpVersion(self._builds_in(row.builds), row.provider, kernels=row.read())
            for row in self.kernel_rows(op)
        ]

    def definition_rows(self, op: str) -> list[Row[OpDef]]:
        """Return the rows with definitions of an op; each is decoded at most once."""
        if op not in self._definitions:
            query = "SELECT provider, builds, definition FROM op WHERE name = ?"
            self._definitions[op] = [
                Row(provider, bits, body, OpDef.FromString) for provider, bits, body in self.rows(query, op)
            ]
        return self._definitions[op]

    def kernel_rows(self, op: str) -> list[Row[list[Kernel]]]:
        if op not in self._kernels:
            query = "SELECT provider, builds, kernels FROM kernels WHERE op = ?"
            self._kernels[op] = [
                Row(provider, bits, body, _unpack) for provider, bits, body in self.rows(query, op)
            ]
        return self._kernels[op]

    def _builds_in(self, bits: bytes) -> list[Build]:
        if bits not in self._sets:
            self._sets[bits] = [build for number, build in self._builds.items() if has_bit(bits, number)]
        return self._sets[bits]


class RecordedSource:
    """What one build registers, as a source of a registry.

    `imported` names the libraries of the build that are loaded too; `without` names the ops whose
    kernels are in a part of the recorded build that this source does not have.
    """

    def __init__(
        self, atlas: Atlas, build: Build, *, imported: Iterable[str] = (), without: Collection[str] = ()
    ) -> None:
        self.build = build
        self._without = without
        self._atlas = atlas
        self._mask = 1 << build.number
        self._providers = {"", *imported}
        self._definitions: dict[str, OpDef | None] = {}
        self._kernels: dict[str, list[Kernel]] = {}

    @property
    def name(self) -> str:
        return self.build.name

    def ops(self) -> list[str]:
        rows = self._atlas.rows("SELECT name, provider, builds FROM op")
        return sorted({name for name, provider, bits in rows if self._counts(provider, bits)})

    def definition(self, op: str) -> OpDef | None:
        if op not in self._definitions:
            row = next(iter(self._rows_of(self._atlas.definition_rows(op))), None)
            self._definitions[op] = row.read() if row else None
        return self._definitions[op]

    def kernels(self, op: str) -> list[Kernel]:
        if op not in self._kernels:
            rows = [] if op in self._without else self._rows_of(self._atlas.kernel_rows(op))
            # return a single row itself: results cached for its kernels apply to every build that shares it
            self._kernels[op] = rows[0].read() if len(rows) == 1 else [k for r in rows for k in r.read()]
        return self._kernels[op]

    def providers(self, op: str) -> list[str]:
        """Return the libraries of this build that register an op when imported."""
        rows = self._atlas.definition_rows(op)
        return sorted(r.provider for r in rows if r.provider and has_bit(r.builds, self.build.number))

    def _rows_of(self, rows: list[Row[T]]) -> list[Row[T]]:
        """Return those of the rows of an op that this build has."""
        mask, providers = self._mask, self._providers
        if not self.build.is_tensorflow:
            return [row for row in rows if row.mask & mask]
        return [row for row in rows if row.mask & mask and row.provider in providers]

    def _counts(self, provider: str, bits: bytes) -> bool:
        # importing an add-on loads all its libraries
        return has_bit(bits, self.build.number) and (
            not self.build.is_tensorflow or provider in self._providers
        )


def has_bit(bits: bytes, number: int) -> bool:
    return number // 8 < len(bits) and bool(bits[number // 8] >> number % 8 & 1)


def _unpack(body: bytes) -> list[Kernel]:
    return kernels_from(KernelList.FromString(zlib.decompress(body)).kernel)


def open_database(path: str | os.PathLike[str]) -> sqlite3.Connection:
    """Open a file read-only, for any thread, without creating files beside it."""
    name = re.sub("[%?#]", lambda mark: f"%{ord(mark[0]):02x}", os.path.abspath(path))
    return sqlite3.connect(f"file:{name}?immutable=1", uri=True, check_same_thread=False)


@functools.cache
def atlas() -> Atlas:
    """Return the atlas that comes with tfport."""
    return Atlas(os.path.join(os.path.dirname(__file__), "atlas.sqlite"))
