"""The recorded registries: which builds there are, what each registers, and the history of an op.

One file, `atlas.sqlite`, in which what many builds have in common stands once:
a definition, or the kernels of an op, with the set of the builds that have it as
bits. Nothing is decoded that is not asked for.
"""

from __future__ import annotations

import functools
import json
import re
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from tfport.atlas.versions import version_key
from tfport.formats.proto.graph_pb2 import OpDef
from tfport.formats.proto.kernel_pb2 import KernelList
from tfport.registry.kernels import Kernel, kernels_from

X86, ARM = "x86_64", "aarch64"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Build:
    """One wheel that was asked, and what its files say."""

    number: int
    package: str
    version: str
    platform: str
    wheel: str
    sha256: str
    facts: dict[str, Any] = field(repr=False, hash=False, compare=False)
    """CUDA, ABI, GLIBC, Python versions and so on; a fact that could not be read is not there."""

    @property
    def name(self) -> str:
        """As a person names it."""
        return f"{self.package} {self.version}" + ("" if self.platform == X86 else f" ({self.platform})")

    @property
    def requirement(self) -> str:
        """As pip writes it."""
        return f"{self.package}=={self.version}"

    @property
    def is_tensorflow(self) -> bool:
        """Whether it is TensorFlow itself, and not an add-on."""
        return self.package in TENSORFLOWS


TENSORFLOWS = ("tensorflow", "tensorflow-cpu", "tensorflow-cpu-aws", "tensorflow-gpu")


@dataclass(frozen=True, slots=True)
class OpRecord:
    """A part of an op's history: builds in which it is the same."""

    builds: list[Build]
    provider: str
    """The library of the wheel that brings it when it is imported; empty for the package itself."""
    definition: OpDef | None = None
    kernels: list[Kernel] = field(default_factory=list)


class Row(Generic[T]):
    """Something that builds have alike: decoded when first read, and then the same object for all of them."""

    __slots__ = ("_body", "_decode", "_read", "builds", "provider")

    def __init__(self, provider: str, builds: bytes, body: bytes, decode: Callable[[bytes], T]) -> None:
        self.provider = provider
        self.builds = builds
        self._body = body
        self._decode = decode
        self._read: T | None = None

    def read(self) -> T:
        if self._read is None:
            self._read = self._decode(self._body)
        return self._read


class Atlas:
    """The recorded builds. Any thread may ask."""

    def __init__(self, path: Path) -> None:
        # one connection behind one lock: a look-up takes microseconds
        self._database = open_database(path)
        weakref.finalize(self, self._database.close)
        self._lock = threading.Lock()
        self._definitions: dict[str, list[Row[OpDef]]] = {}
        self._kernels: dict[str, list[Row[list[Kernel]]]] = {}
        self._sets: dict[bytes, list[Build]] = {}

    @functools.cached_property
    def _builds(self) -> dict[int, Build]:
        query = "SELECT id, package, version, platform, wheel, sha256, facts FROM build"
        return {
            number: Build(number, package, version, platform, wheel, sha256, json.loads(facts))
            for number, package, version, platform, wheel, sha256, facts in self.rows(query)
        }

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._database.execute(query, values).fetchall()

    def builds(self, package: str | None = None, platform: str | None = X86) -> list[Build]:
        """The builds of a package, or all of them, the oldest first."""
        found = [
            build
            for build in self._builds.values()
            if package in (None, build.package) and platform in (None, build.platform)
        ]
        return sorted(found, key=lambda b: (b.package, version_key(b.version), b.platform))

    def packages(self) -> list[str]:
        return sorted({build.package for build in self._builds.values()})

    def find(self, package: str, version: str, platform: str = X86) -> Build | None:
        """The build of exactly this version."""
        wanted = version_key(version)
        there = (b for b in self._builds.values() if (b.package, b.platform) == (package, platform))
        return next((build for build in there if version_key(build.version) == wanted), None)

    def source(self, build: Build) -> RecordedSource:
        """What a build registers."""
        return RecordedSource(self, build)

    def op_names(self) -> list[str]:
        return [name for (name,) in self.rows("SELECT DISTINCT name FROM op ORDER BY name")]

    def definitions(self, op: str) -> list[OpRecord]:
        """Every definition that an op has had, with the builds that have it."""
        return [
            OpRecord(self._builds_in(row.builds), row.provider, definition=row.read())
            for row in self.definition_rows(op)
        ]

    def kernel_sets(self, op: str) -> list[OpRecord]:
        """Every set of kernels that an op has had, with the builds that have it."""
        return [
            OpRecord(self._builds_in(row.builds), row.provider, kernels=row.read())
            for row in self.kernel_rows(op)
        ]

    def definition_rows(self, op: str) -> list[Row[OpDef]]:
        """What builds say of an op; a row is decoded once, whoever asks for it."""
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
    """What one build registers, as a source for a registry."""

    def __init__(self, atlas: Atlas, build: Build, *, imported: Iterable[str] = ()) -> None:
        self.build = build
        self._atlas = atlas
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
            found = (row for row in self._atlas.definition_rows(op) if self._counts(row.provider, row.builds))
            row = next(found, None)
            self._definitions[op] = row.read() if row else None
        return self._definitions[op]

    def kernels(self, op: str) -> list[Kernel]:
        if op not in self._kernels:
            rows = [row for row in self._atlas.kernel_rows(op) if self._counts(row.provider, row.builds)]
            # one row is given as it is: what was found out about it holds for every build that has it
            self._kernels[op] = rows[0].read() if len(rows) == 1 else [k for r in rows for k in r.read()]
        return self._kernels[op]

    def providers(self, op: str) -> list[str]:
        """The libraries of this build that would bring an op when they are imported."""
        rows = self._atlas.rows("SELECT provider, builds FROM op WHERE name = ? AND provider <> ''", op)
        return sorted(provider for provider, bits in rows if has_bit(bits, self.build.number))

    def _counts(self, provider: str, bits: bytes) -> bool:
        # every library of an add-on is loaded when the add-on is imported
        return has_bit(bits, self.build.number) and (
            not self.build.is_tensorflow or provider in self._providers
        )


def has_bit(bits: bytes, number: int) -> bool:
    return number // 8 < len(bits) and bool(bits[number // 8] >> number % 8 & 1)


def _unpack(body: bytes) -> list[Kernel]:
    return kernels_from(KernelList.FromString(zlib.decompress(body)).kernel)


def open_database(path: Path) -> sqlite3.Connection:
    """A file to be read by any thread, and never written to, nor anything beside it."""
    name = re.sub("[%?#]", lambda mark: f"%{ord(mark[0]):02x}", str(path.absolute()))
    return sqlite3.connect(f"file:{name}?immutable=1", uri=True, check_same_thread=False)


@functools.cache
def atlas() -> Atlas:
    """The builds that tfport has recorded."""
    return Atlas(Path(__file__).with_name("atlas.sqlite"))
