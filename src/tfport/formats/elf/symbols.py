"""The dynamic symbols of a library and their versions: those it defines and those it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from tfport.errors import UnreadableFile
from tfport.formats.elf.image import Image, string_at
from tfport.startup.dataclass import dataclass

SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
NEED = np.dtype([("version", "<u2"), ("count", "<u2"), ("file", "<u4"), ("aux", "<u4"), ("next", "<u4")])
NEED_AUX = np.dtype([("hash", "<u4"), ("flags", "<u2"), ("index", "<u2"), ("name", "<u4"), ("next", "<u4")])
DEFINITION = np.dtype(
    [("version", "<u2"), ("flags", "<u2"), ("index", "<u2"), ("count", "<u2"), ("hash", "<u4"),
     ("aux", "<u4"), ("next", "<u4")]
)  # fmt: skip
LOCAL, WEAK = 0, 2
DEFAULT, PROTECTED = 0, 3
BASE_VERSION = 1
WEAK_VERSION = 2
HIDDEN_VERSION = 0x8000
OLDEST_VERSION = 2
"""The number of the first version that a library defines; 0 and 1 stand for none."""
MOST_VERSIONS = 1 << 14
Tag = Callable[[str], int | None]


@dataclass(frozen=True, slots=True)
class Undefined:
    """A symbol that another library must define."""

    name: str
    is_weak: bool
    """Whether it may be missing."""
    version: str = ""
    """`GLIBC_2.17`; empty for any."""
    library: str = ""
    """The library that the version belongs to."""


class SymbolTable:
    """The dynamic symbols."""

    def __init__(self, image: Image, strings: memoryview, tag: Tag, used: int) -> None:
        """`used` is the number of symbols that relocations refer to; nothing else counts undefined ones."""
        self._image, self._strings, self._tag = image, strings, tag
        start, count = tag("DT_SYMTAB"), max(_count(image, tag), used)
        rows = image.table(start, count, SYMBOL, "the symbols") if start is not None and count else None
        self._rows = rows if rows is not None else np.empty(0, SYMBOL)

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def undefined(self) -> list[Undefined]:
        """The undefined symbols, in the order of the table."""
        rows = self._rows
        numbers = np.flatnonzero((rows["section"] == 0) & (rows["name"] != 0) & (rows["info"] >> 4 != LOCAL))
        return [self._undefined(int(number)) for number in numbers]

    def undefined_among(self, numbers: Iterable[int]) -> list[str]:
        """The names of the undefined ones among these symbols."""
        rows, count = self._rows, len(self._rows)
        ordered = [n for n in map(int, numbers) if 0 < n < count and rows["section"][n] == 0]
        return [name for n in ordered if (name := self._name(n))]

    def _undefined(self, number: int) -> Undefined:
        library, version = self._version(number)
        is_weak = bool(self._rows["info"][number] >> 4 == WEAK)
        return Undefined(self._name(number), is_weak, version, library)

    def name_of(self, number: int) -> str:
        return self._name(number) if 0 < number < len(self._rows) else ""

    def address_of(self, number: int) -> int:
        """The address of a symbol; 0 if the library does not define it."""
        row = self._rows[number] if 0 < number < len(self._rows) else None
        return int(row["value"]) if row is not None and row["section"] else 0

    def _name(self, number: int) -> str:
        return string_at(self._strings, int(self._rows["name"][number]))

    @cached_property
    def _versions(self) -> np.ndarray[Any, Any]:
        start = self._tag("DT_VERSYM")
        if start is None:
            return np.empty(0, "<u2")
        return self._image.table(start, len(self._rows), np.dtype("<u2"), "the symbol versions")

    @cached_property
    def _defined_by_number(self) -> dict[int, str]:
        """The versions that it defines or requires by number, without the one that stands for no version."""
        defined = {
            number: name
            for number, name, is_base in _definitions(self._image, self._strings, self._tag)
            if not is_base
        }
        return {number: version for number, (_, version) in self._required_by_number.items()} | defined

    @cached_property
    def _required_by_number(self) -> dict[int, tuple[str, str]]:
        needs = _needs(self._image, self._strings, self._tag)
        return {need.number: (need.library, need.version) for need in needs}

    def _version(self, number: int) -> tuple[str, str]:
        if number >= len(self._versions):
            return "", ""
        return self._required_by_number.get(int(self._versions[number]) & ~HIDDEN_VERSION, ("", ""))

    @cached_property
    def defined(self) -> frozenset[str]:
        """The names of the symbols that other libraries can use."""
        return frozenset(self._numbers_by_name)

    @cached_property
    def _numbers_by_name(self) -> dict[str, list[int]]:
        rows = self._rows
        visible = np.isin(rows["other"] & 3, (DEFAULT, PROTECTED))
        selected = np.flatnonzero(
            (rows["section"] != 0) & (rows["name"] != 0) & (rows["info"] >> 4 != LOCAL) & visible
        )
        numbers: dict[str, list[int]] = {}
        for number, name in zip(
            selected.tolist(), _texts(bytes(self._strings), rows["name"][selected].tolist()), strict=True
        ):
            numbers.setdefault(name, []).append(number)
        return numbers

    def defines(self, symbol: Undefined) -> bool:
        """Whether the loader binds a symbol that another library needs to one of these.

        The rules of `check_match` and `do_lookup_x` in glibc's dl-lookup.c. A symbol without a
        version satisfies a need for any version. A need without a version takes the oldest
        version, or the only one that is not hidden.
        """
        numbers = self._numbers_by_name.get(symbol.name, ())
        if not len(self._versions):
            return bool(numbers)
        indices = [int(self._versions[number]) for number in numbers]
        if symbol.version:
            return any(self._is_version(index, symbol.version) for index in indices)
        if any(index & ~HIDDEN_VERSION <= OLDEST_VERSION for index in indices):
            return True
        return len([index for index in indices if not index & HIDDEN_VERSION]) == 1

    def _is_version(self, index: int, version: str) -> bool:
        own = self._defined_by_number.get(index & ~HIDDEN_VERSION, "")
        return own == version or (not own and not index & HIDDEN_VERSION)

    def addresses(self) -> dict[int, str]:
        """The names of the defined symbols by address."""
        rows = self._rows
        selected = (rows["section"] != 0) & (rows["name"] != 0)
        names = _texts(bytes(self._strings), rows["name"][selected].tolist())
        return dict(zip(rows["value"][selected].tolist(), names, strict=True))


def _texts(strings: bytes, offsets: list[int]) -> Iterator[str]:
    find = strings.find
    for offset in offsets:
        end = find(b"\0", offset)
        yield strings[offset : end if end >= 0 else None].decode(errors="replace")


def _count(image: Image, tag: Tag) -> int:
    """The number of symbols, derived from the hash table: no other field has it."""
    if (start := tag("DT_HASH")) is not None:
        return int(image.table(start, 2, np.dtype("<u4"), "the hash table")[1])
    if (start := tag("DT_GNU_HASH")) is not None:
        return _count_by_gnu_hash(image, start)
    return 0


def _count_by_gnu_hash(image: Image, start: int) -> int:
    number = np.dtype("<u4")
    buckets, first, bloom, _ = image.table(start, 4, number, "the hash table").tolist()
    address = start + 16 + bloom * 8
    last = int(image.table(address, buckets, number, "the hash table").max(initial=0))
    if last < first:  # nothing is defined
        return int(first)
    chain = address + 4 * buckets + 4 * (last - first)
    rest = np.frombuffer(_whole_words(image.read_up_to(chain, 1 << 22)), number)
    ends = np.flatnonzero(rest & 1)
    if not len(ends):
        raise UnreadableFile(f"{image.where}: the hash table has no end")
    return last + int(ends[0]) + 1


def _whole_words(data: memoryview) -> memoryview:
    return data[: len(data) // 4 * 4]


def read_required_versions(image: Image, strings: memoryview, tag: Tag) -> dict[str, dict[str, bool]]:
    versions: dict[str, dict[str, bool]] = {}
    for need in _needs(image, strings, tag):
        versions.setdefault(need.library, {})[need.version] = need.is_weak
    return versions


@dataclass(frozen=True, slots=True)
class _Need:
    """A version required of a library, and the number by which symbols refer to it."""

    library: str
    version: str
    is_weak: bool
    number: int


def _needs(image: Image, strings: memoryview, tag: Tag) -> Iterator[_Need]:
    address, left = tag("DT_VERNEED"), MOST_VERSIONS
    while address is not None and left > 0:
        need = image.table(address, 1, NEED, "the required versions")[0]
        aux = address + int(need["aux"])
        for _ in range(min(int(need["count"]), left)):
            row = image.table(aux, 1, NEED_AUX, "the required versions")[0]
            yield _Need(
                string_at(strings, int(need["file"])),
                string_at(strings, int(row["name"])),
                bool(row["flags"] & WEAK_VERSION),
                int(row["index"]) & ~HIDDEN_VERSION,
            )
            left -= 1
            if not row["next"]:
                break
            aux += int(row["next"])
        left -= 1
        address = address + int(need["next"]) if need["next"] else None


def read_defined_versions(image: Image, strings: memoryview, tag: Tag) -> set[str]:
    return {name for _, name, _ in _definitions(image, strings, tag)}


def _definitions(image: Image, strings: memoryview, tag: Tag) -> Iterator[tuple[int, str, bool]]:
    """The number and name of each version that is defined, and whether it stands for none."""
    address, left = tag("DT_VERDEF"), MOST_VERSIONS
    while address is not None and left > 0:
        row = image.table(address, 1, DEFINITION, "the defined versions")[0]
        name = image.table(address + int(row["aux"]), 1, np.dtype("<u4"), "the defined versions")[0]
        number, is_base = int(row["index"]) & ~HIDDEN_VERSION, bool(row["flags"] & BASE_VERSION)
        yield number, string_at(strings, int(name)), is_base
        address = address + int(row["next"]) if row["next"] else None
        left -= 1
