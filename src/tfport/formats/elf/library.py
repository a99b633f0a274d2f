"""Read what the dynamic loader reads from a shared library.

`read_header` reads any ELF file; `ElfLibrary` only 64-bit little-endian ones, which
TensorFlow runs on. It uses what the loader uses: program headers and the tables of the
dynamic segment, never section headers, which may be missing or wrong. Tables are read
in place from the mapped file. The library is not loaded; `lib` interprets the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np
from elftools.elf.descriptions import describe_e_machine
from elftools.elf.enums import ENUM_D_TAG, ENUM_E_MACHINE, ENUM_E_TYPE, ENUM_P_TYPE_BASE

from tfport.errors import UnreadableFile
from tfport.formats.elf.image import Image, Segment, string_at
from tfport.formats.elf.symbols import SymbolTable, read_defined_versions, read_required_versions
from tfport.startup.dataclass import dataclass

MAGIC = b"\x7fELF"
IDENT_SIZE = 16
HEADER_SIZE = 64
HEADER_SIZE_32 = 52
PROGRAM_HEADER_SIZE = 56
X86, ARM = "x86_64", "aarch64"
MACHINES = {"EM_X86_64": X86, "EM_AARCH64": ARM}
MOST_ENTRIES = 1 << 16
"""The most entries of a dynamic segment that are read; real ones have some dozens."""

HEADER = np.dtype(
    [("ident", "V16"), ("type", "<u2"), ("machine", "<u2"), ("version", "<u4"), ("entry", "<u8"),
     ("phoff", "<u8"), ("shoff", "<u8"), ("flags", "<u4"), ("ehsize", "<u2"), ("phentsize", "<u2"),
     ("phnum", "<u2"), ("shentsize", "<u2"), ("shnum", "<u2"), ("shstrndx", "<u2")]
)  # fmt: skip
PROGRAM_HEADER = np.dtype(
    [("type", "<u4"), ("flags", "<u4"), ("offset", "<u8"), ("vaddr", "<u8"), ("paddr", "<u8"),
     ("filesz", "<u8"), ("memsz", "<u8"), ("align", "<u8")]
)  # fmt: skip
DYNAMIC = np.dtype([("tag", "<i8"), ("value", "<u8")])
RELOCATION = np.dtype([("offset", "<u8"), ("type", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])

PT_DYNAMIC: Final = ENUM_P_TYPE_BASE["PT_DYNAMIC"]
PT_TLS: Final = ENUM_P_TYPE_BASE["PT_TLS"]
DF_STATIC_TLS = 0x10
DF_1_NOOPEN, DF_1_PIE = 0x40, 0x08000000


@dataclass(frozen=True, slots=True)
class ElfHeader:
    """The header of an ELF file."""

    bits: int
    little: bool
    ident: bytes
    kind: str
    """`ET_DYN`, `ET_EXEC`, …; the number of an unknown type."""
    machine: str
    """`x86_64`, `aarch64`, or the description of another machine."""
    version: int
    entry_size: int
    """The size of a program header."""


def read_header(data: memoryview, where: str) -> ElfHeader:
    """The header of an ELF file of any kind."""
    if bytes(data[:4]) != MAGIC:
        raise UnreadableFile(f"{where}: not an ELF file: it begins with {bytes(data[:4])!r}")
    ident = bytes(data[:IDENT_SIZE])
    bits = 32 if ident[4:5] == b"\1" else 64
    needed = HEADER_SIZE if bits == 64 else HEADER_SIZE_32
    if len(data) < needed:
        raise UnreadableFile(f"{where}: expected an ELF header of {needed} bytes, found {len(data)} bytes")
    order = "little" if ident[5:6] != b"\2" else "big"

    def number(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], "little" if order == "little" else "big")

    return ElfHeader(
        bits=bits,
        little=order == "little",
        ident=ident,
        kind=_name(ENUM_E_TYPE, number(16, 2)),
        machine=machine_name(number(18, 2)),
        version=number(20, 4),
        entry_size=number(54 if bits == 64 else 42, 2),
    )


def machine_name(number: int) -> str:
    name = _name(ENUM_E_MACHINE, number)
    return MACHINES.get(name) or (describe_e_machine(name) if name.startswith("EM_") else f"machine {name}")


def _name(names: Mapping[str, Any], number: int) -> str:
    return next((name for name, value in names.items() if value == number), str(number))


class ElfLibrary:
    """The dynamic segment of a shared library or program."""

    def __init__(self, data: memoryview, where: str) -> None:
        self.where = where
        self.size = len(data)
        self.header = read_header(data, where)
        if self.header.bits != 64 or not self.header.little:
            order = "little" if self.header.little else "big"
            raise UnreadableFile(
                f"{where}: expected a 64-bit little-endian ELF file, "
                f"found {self.header.bits} bits, {order} endian"
            )
        self.image = Image(data, where, _segments(data, where))

    @cached_property
    def has_dynamic(self) -> bool:
        return any(segment.kind == PT_DYNAMIC for segment in self.image.segments)

    @cached_property
    def _dynamic(self) -> dict[int, list[int]]:
        """Values by tag; a zero tag ends the list."""
        segment = next((s for s in self.image.segments if s.kind == PT_DYNAMIC), None)
        if segment is None:
            return {}
        size = min(segment.memory_size, MOST_ENTRIES * DYNAMIC.itemsize)
        entries = self.image.table(segment.address, size // DYNAMIC.itemsize, DYNAMIC, "the dynamic segment")
        ends = np.flatnonzero(entries["tag"] == 0)
        values_by_tag: dict[int, list[int]] = {}
        for tag, value in entries[: ends[0] if len(ends) else None].tolist():
            values_by_tag.setdefault(tag, []).append(value)
        return values_by_tag

    def tag(self, name: str) -> int | None:
        """The value of an entry of the dynamic segment; as for the loader, the last one counts."""
        values = self._dynamic.get(ENUM_D_TAG[name])
        return values[-1] if values else None

    @cached_property
    def _strings(self) -> memoryview:
        start, size = self.tag("DT_STRTAB"), self.tag("DT_STRSZ")
        if start is None:
            return memoryview(b"")
        return self.image.read(start, size or 0, "the string table")

    def _text(self, offset: int) -> str:
        return string_at(self._strings, offset)

    @cached_property
    def needed(self) -> list[str]:
        """The libraries that are loaded with it, in order."""
        return [self._text(offset) for offset in self._dynamic.get(ENUM_D_TAG["DT_NEEDED"], [])]

    @cached_property
    def soname(self) -> str:
        offset = self.tag("DT_SONAME")
        return self._text(offset) if offset is not None else ""

    @cached_property
    def rpath(self) -> list[str]:
        """DT_RPATH, which the loader ignores if there is a DT_RUNPATH."""
        return self._folders("DT_RPATH")

    @cached_property
    def runpath(self) -> list[str]:
        return self._folders("DT_RUNPATH")

    def _folders(self, name: str) -> list[str]:
        offset = self.tag(name)
        return self._text(offset).split(":") if offset is not None else []

    @cached_property
    def is_program(self) -> bool:
        """Whether it is a position-independent program."""
        return bool((self.tag("DT_FLAGS_1") or 0) & DF_1_PIE)

    @cached_property
    def refuses_dlopen(self) -> bool:
        return bool((self.tag("DT_FLAGS_1") or 0) & DF_1_NOOPEN)

    @cached_property
    def static_storage(self) -> int:
        """Bytes of static thread-local storage that it needs; 0 if none."""
        is_static = (self.tag("DT_FLAGS") or 0) & DF_STATIC_TLS
        return (
            max((s.memory_size for s in self.image.segments if s.kind == PT_TLS), default=0)
            if is_static
            else 0
        )

    @cached_property
    def has_versions(self) -> bool:
        """Whether its symbols have versions."""
        return self.tag("DT_VERSYM") is not None

    @cached_property
    def initializers(self) -> int:
        """The number of functions that run when it is loaded."""
        return (self.tag("DT_INIT_ARRAYSZ") or 0) // 8

    @cached_property
    def symbols(self) -> SymbolTable:
        """The symbols that it defines and those that it needs."""
        tables = (self.relocations, self.jump_slots)
        used = max(int(table["symbol"].max(initial=0)) + 1 for table in tables)
        return SymbolTable(self.image, self._strings, self.tag, used)

    @cached_property
    def required_versions(self) -> dict[str, dict[str, bool]]:
        """The symbol versions required of each library: {"GLIBC_2.17": whether it is optional}."""
        return read_required_versions(self.image, self._strings, self.tag)

    @cached_property
    def defined_versions(self) -> set[str]:
        return read_defined_versions(self.image, self._strings, self.tag)

    @cached_property
    def relocations(self) -> np.ndarray[Any, Any]:
        return self._relocations("DT_RELA", "DT_RELASZ")

    @cached_property
    def jump_slots(self) -> np.ndarray[Any, Any]:
        """Relocations of called functions, which the loader processes last."""
        return self._relocations("DT_JMPREL", "DT_PLTRELSZ")

    def _relocations(self, start: str, size: str) -> np.ndarray[Any, Any]:
        address, length = self.tag(start), self.tag(size) or 0
        if address is None:
            return np.empty(0, RELOCATION)
        return self.image.table(address, length // RELOCATION.itemsize, RELOCATION, "the relocations")

    @cached_property
    def bound(self) -> list[str]:
        """The undefined symbols in the order in which the loader looks them up."""
        numbers = np.concatenate([self.relocations["symbol"], self.jump_slots["symbol"]])
        unique, first = np.unique(numbers, return_index=True)
        ordered = unique[np.argsort(first)]
        return self.symbols.undefined_among(ordered)


def _segments(data: memoryview, where: str) -> list[Segment]:
    header = np.frombuffer(data[:HEADER_SIZE], HEADER)[0]
    start, count = int(header["phoff"]), int(header["phnum"])
    end = start + count * PROGRAM_HEADER_SIZE
    if int(header["phentsize"]) != PROGRAM_HEADER_SIZE or end > len(data):
        raise UnreadableFile(f"{where}: the program headers are not where the header says")
    table = np.frombuffer(data[start:end], PROGRAM_HEADER)
    fields = ("type", "flags", "offset", "vaddr", "filesz", "memsz", "align")
    return [Segment(*(int(row[name]) for name in fields)) for row in table]
