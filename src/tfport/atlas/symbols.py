"""The symbols that recorded builds export: what a custom-op library can link to.

They are in the file `symbols.sqlite`. Names are stored as 40-bit hashes: about one in a
million unknown names is mistaken for an exported one. Symbols that the same builds export
form a group; a bucket has the hashes with the same first 11 bits, sorted, each with its group.
"""

from __future__ import annotations

import functools
import hashlib
import struct
import threading
import weakref
import zlib
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any

from tfport.atlas.atlas import open_database
from tfport.startup.dataclass import dataclass

BUCKET_BITS = 11
HASH_BYTES = 5
REST_BYTES = 4
"""Bytes of a hash within a bucket: 29 bits."""


def symbol_hash(symbol: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(symbol, digest_size=HASH_BYTES).digest(), "big")


def split_hash(value: int) -> tuple[int, int]:
    """Return the bucket of a hash, and the remaining bits."""
    rest_bits = 8 * HASH_BYTES - BUCKET_BITS
    return value >> rest_bits, value & (1 << rest_bits) - 1


def join_hash(bucket: int, rest: int) -> int:
    """Return the hash from its bucket and the remaining bits; the inverse of `split_hash`."""
    return bucket << 8 * HASH_BYTES - BUCKET_BITS | rest


@dataclass(frozen=True, slots=True)
class LostSymbols:
    """How many symbols a build has, and how many of them another lacks."""

    had: int
    lost: int


class Symbols:
    """The exported symbols of recorded builds, by `package==version`; thread-safe."""

    def __init__(self, path: Path) -> None:
        self._database = open_database(path)
        weakref.finalize(self, self._database.close)
        self._lock = threading.Lock()
        self._buckets: dict[int, dict[int, int]] = {}
        self._groups: dict[int, frozenset[str]] = {}
        self.builds = [str(name) for (name,) in self._rows("SELECT name FROM build ORDER BY id")]

    def _rows(self, query: str, *values: int) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._database.execute(query, values).fetchall()

    def exporters(self, symbol: str) -> frozenset[str]:
        """Return the builds that export a symbol, by its mangled name."""
        bucket, rest = split_hash(symbol_hash(symbol.encode()))
        group = self._bucket(bucket).get(rest)
        return frozenset() if group is None else self._group(group)

    def missing(self, symbols: Iterable[str], build: str) -> list[str]:
        """Return the symbols that a build does not export."""
        return [symbol for symbol in symbols if build not in self.exporters(symbol)]

    def lost(self, before: str, after: str) -> LostSymbols | None:
        """Count the symbols of a build that another does not export; None if one is not recorded."""
        if not {before, after} <= set(self.builds):
            return None
        first, second = (1 << self.builds.index(name) for name in (before, after))
        has = {n: int.from_bytes(bits, "little") for n, bits in self._rows("SELECT id, builds FROM groups")}
        had = {group: many for group, many in self._sizes.items() if has[group] & first}
        return LostSymbols(
            sum(had.values()), sum(many for group, many in had.items() if not has[group] & second)
        )

    @functools.cached_property
    def _sizes(self) -> Counter[int]:
        """How many symbols each group has."""
        sizes = Counter[int]()
        for (body,) in self._rows("SELECT body FROM bucket"):
            sizes.update(groups_of(body))
        return sizes

    def _bucket(self, number: int) -> dict[int, int]:
        if number not in self._buckets:
            rows = self._rows("SELECT body FROM bucket WHERE id = ?", number)
            self._buckets[number] = unpack_bucket(rows[0][0]) if rows else {}
        return self._buckets[number]

    def _group(self, number: int) -> frozenset[str]:
        if number not in self._groups:
            bits = int.from_bytes(
                self._rows("SELECT builds FROM groups WHERE id = ?", number)[0][0], "little"
            )
            self._groups[number] = frozenset(b for i, b in enumerate(self.builds) if bits >> i & 1)
        return self._groups[number]


def pack_bucket(entries: dict[int, int]) -> bytes:
    """Encode sorted hashes as differences, then their groups, both split into byte planes."""
    ordered = sorted(entries.items())
    steps = [rest - before for (rest, _), before in zip(ordered, [0, *(r for r, _ in ordered)], strict=False)]
    planes = [bytes(step >> 8 * i & 255 for step in steps) for i in range(REST_BYTES)]
    planes += [bytes(group >> 8 * i & 255 for _, group in ordered) for i in range(2)]
    return zlib.compress(b"".join(planes), 9)


def unpack_bucket(body: bytes) -> dict[int, int]:
    data = zlib.decompress(body)
    count = len(data) // (REST_BYTES + 2)
    planes = [data[i * count : (i + 1) * count] for i in range(REST_BYTES + 2)]
    a, b, c, d, low, high = planes
    steps = (w | x << 8 | y << 16 | z << 24 for w, x, y, z in zip(a, b, c, d, strict=True))
    return dict(zip(accumulate(steps), (x | y << 8 for x, y in zip(low, high, strict=True)), strict=True))


def groups_of(body: bytes) -> Iterable[int]:
    """Return the group of each symbol in a bucket."""
    data = zlib.decompress(body)
    count = len(data) // (REST_BYTES + 2)
    pairs = bytearray(2 * count)
    pairs[::2], pairs[1::2] = (
        data[REST_BYTES * count : (REST_BYTES + 1) * count],
        data[(REST_BYTES + 1) * count :],
    )
    return struct.unpack(f"<{count}H", pairs)


@functools.cache
def symbols() -> Symbols:
    """Return the symbols that come with tfport."""
    return Symbols(Path(__file__).with_name("symbols.sqlite"))
