"""What does a shared object say about itself?

`Library(path)` reads the tables that a loader reads, and loads nothing: what it
needs, which symbol versions, what it exports and leaves undefined, and the bytes
of a section. What they mean is decided by `facts`, `fatbin` and `stubs`.
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
    """A shared object of 64 bits."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def elf(self) -> ELFFile:
        return ELFFile(open(self.path, "rb"))  # closed with the last use of this

    def section(self, name: str) -> bytes:
        section = self.elf.get_section_by_name(name)
        return section.data() if section and section["sh_type"] != "SHT_NOBITS" else b""

    @cached_property
    def needed(self) -> list[str]:
        """The libraries that are loaded with it."""
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
        """Names that others can link to, sorted, without their versions."""
        return sorted({name for name, defined, _, visible in self.symbols() if defined and visible})

    @cached_property
    def undefined(self) -> list[str]:
        """Names that others must have: weak ones may be missing."""
        return sorted({name for name, defined, weak, _ in self.symbols() if not defined and not weak})

    def symbols(self) -> Iterator[tuple[str, bool, bool, bool]]:
        """Each dynamic symbol: its name, whether it is defined, weak, visible to others."""
        names, table = self.section(".dynstr"), self.section(".dynsym")
        for start, info, other, section, _, _ in SYMBOL.iter_unpack(table):
            binding = info >> 4
            if start and binding != LOCAL:
                name = names[start : names.index(b"\0", start)].decode(errors="replace")
                yield name, section != UNDEFINED, binding == WEAK, other & 3 in (DEFAULT, PROTECTED)
