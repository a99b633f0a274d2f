"""Read a shared object without loading it.

`Library(path)` reads the tables that a loader reads: needed libraries and symbol
versions, exported and undefined symbols, and the bytes of a section. `facts`, `fatbin`
and `stubs` interpret them.
"""

import struct
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from elftools.elf.elffile import ELFFile

SYMBOL = struct.Struct("<IBBHQQ")
LOCAL, WEAK = 0, 2
DEFAULT, PROTECTED = 0, 3
UNDEFINED = 0


class Library:
    """A 64-bit shared object."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def elf(self) -> ELFFile:
        return ELFFile(open(self.path, "rb"))  # closed when the object is deleted

    def section(self, name: str) -> bytes:
        section = self.elf.get_section_by_name(name)
        return section.data() if section and section["sh_type"] != "SHT_NOBITS" else b""

    @cached_property
    def needed(self) -> list[str]:
        """The libraries that it needs."""
        dynamic = self.elf.get_section_by_name(".dynamic")
        return [tag.needed for tag in dynamic.iter_tags("DT_NEEDED")]

    @cached_property
    def versions(self) -> dict[str, list[str]]:
        """The symbol versions that it needs, by library: {"libc.so.6": ["GLIBC_2.17", …]}."""
        table = self.elf.get_section_by_name(".gnu.version_r")
        needs = table.iter_versions() if table else ()
        return {need.name: [version.name for version in versions] for need, versions in needs}

    @cached_property
    def exported(self) -> list[str]:
        """Exported names, sorted, without versions."""
        return sorted({name for name, defined, _, visible in self.symbols() if defined and visible})

    @cached_property
    def undefined(self) -> list[str]:
        """Undefined names that other libraries must provide, without weak ones."""
        return sorted({name for name, defined, weak, _ in self.symbols() if not defined and not weak})

    def symbols(self) -> Iterator[tuple[str, bool, bool, bool]]:
        """Yield each dynamic symbol: its name, and whether it is defined, weak, and visible."""
        names, table = self.section(".dynstr"), self.section(".dynsym")
        for start, info, other, section, _, _ in SYMBOL.iter_unpack(table):
            binding = info >> 4
            if start and binding != LOCAL:
                name = names[start : names.index(b"\0", start)].decode(errors="replace")
                yield name, section != UNDEFINED, binding == WEAK, other & 3 in (DEFAULT, PROTECTED)
