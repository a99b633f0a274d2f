"""Reduce a library to the parts that decide whether it loads: a small ELF file.

`reduced_elf(path)` keeps what it needs from others: libraries, paths, versions, undefined symbols
and the order of their relocations; with `exports` also the symbols that others can use. Code,
data and section headers are removed, so that it cannot run.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile

HEADER, PROGRAM = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQQQ")
SYMBOL = struct.Struct("<IBBHQQ")
NEED, NEED_AUX = struct.Struct("<HHIII"), struct.Struct("<IHHII")
DEFINITION, DEFINITION_AUX = struct.Struct("<HHHHIII"), struct.Struct("<II")
RELOCATION, ENTRY = struct.Struct("<QQq"), struct.Struct("<qQ")
SHARED, PT_LOAD, PT_DYNAMIC = 3, 1, 2
TEXTS = {"DT_NEEDED": 1, "DT_SONAME": 14, "DT_RPATH": 15, "DT_RUNPATH": 29}
NUMBERS = {"DT_FLAGS": 30, "DT_FLAGS_1": 0x6FFFFFFB}
TABLES = {
    "strings": 5, "symbols": 6, "hash": 4, "versions": 0x6FFFFFF0, "needs": 0x6FFFFFFE,
    "definitions": 0x6FFFFFFC, "relocations": 7, "calls": 23,
}  # fmt: skip
STRSZ, RELASZ, PLTRELSZ, PLTREL, NEEDS, DEFINITIONS = 10, 8, 2, 20, 0x6FFFFFFF, 0x6FFFFFFD
GLOBAL_DATA, JUMP_SLOT, RELA = 6, 7, 7


class Strings:
    """A growing string table."""

    def __init__(self) -> None:
        self.content, self.places = bytearray(b"\0"), {"": 0}

    def add(self, text: str) -> int:
        if text not in self.places:
            self.places[text] = len(self.content)
            self.content += text.encode() + b"\0"
        return self.places[text]


class ReducedElf:
    """Rewrites the tables of a library."""

    def __init__(self, file: ELFFile, exports: bool) -> None:
        self.file, self.strings = file, Strings()
        self.symbols = list(file.get_section_by_name(".dynsym").iter_symbols())
        self.kept = [n for n, s in enumerate(self.symbols) if exports or s["st_shndx"] == "SHN_UNDEF"]
        self.renumbered = {old: new for new, old in enumerate(self.kept)}

    def tables(self) -> dict[str, bytes]:
        made = {
            "symbols": b"".join(self.symbol(n) for n in self.kept),
            "hash": struct.pack("<III", 1, len(self.kept), 0) + bytes(4 * len(self.kept)),
            "versions": self.versions(),
            "needs": self.needs(),
            "definitions": self.definitions(),
            "relocations": self.relocations(".rela.dyn", GLOBAL_DATA),
            "calls": self.relocations(".rela.plt", JUMP_SLOT),
        }
        self.entries = [*self.texts(), *self.numbers()]
        present = {name: table for name, table in made.items() if table}
        return {**present, "strings": bytes(self.strings.content)}

    def symbol(self, number: int) -> bytes:
        """A symbol with its name, kind, visibility and whether it is defined."""
        if not number:
            return bytes(SYMBOL.size)
        section = self.file.get_section_by_name(".dynsym")
        self.file.stream.seek(section["sh_offset"] + number * SYMBOL.size)
        _, info, other, where, *_ = SYMBOL.unpack(self.file.stream.read(SYMBOL.size))
        return SYMBOL.pack(self.strings.add(self.symbols[number].name), info, other, 1 if where else 0, 0, 0)

    def versions(self) -> bytes:
        section = self.file.get_section_by_name(".gnu.version")
        if section is None:
            return b""
        numbers = memoryview(section.data()).cast("H")
        return struct.pack(f"<{len(self.kept)}H", *(numbers[n] for n in self.kept))

    def needs(self) -> bytes:
        section = self.file.get_section_by_name(".gnu.version_r")
        parts = [(need, list(versions)) for need, versions in section.iter_versions()] if section else []
        self.need_count = len(parts)
        out = b""
        for index, (need, versions) in enumerate(parts):
            size = NEED.size + len(versions) * NEED_AUX.size
            after = size if index < len(parts) - 1 else 0
            out += NEED.pack(1, len(versions), self.strings.add(need.name), NEED.size, after)
            for number, version in enumerate(versions):
                mark, flags, other = version["vna_hash"], version["vna_flags"], version["vna_other"]
                step = NEED_AUX.size if number < len(versions) - 1 else 0
                out += NEED_AUX.pack(mark, flags, other, self.strings.add(version.name), step)
        return out

    def definitions(self) -> bytes:
        section = self.file.get_section_by_name(".gnu.version_d")
        parts = [(v, next(iter(names))) for v, names in section.iter_versions()] if section else []
        self.definition_count = len(parts)
        out, size = b"", DEFINITION.size + DEFINITION_AUX.size
        for place, (version, name) in enumerate(parts):
            flags, index, mark = version["vd_flags"], version["vd_ndx"], version["vd_hash"]
            step = size if place < len(parts) - 1 else 0
            out += DEFINITION.pack(1, flags, index, 1, mark, DEFINITION.size, step)
            out += DEFINITION_AUX.pack(self.strings.add(name.name), 0)
        return out

    def relocations(self, section: str, kind: int) -> bytes:
        """The first relocation of each kept symbol, in order."""
        relocations = self.file.get_section_by_name(section)
        data = relocations.data() if relocations else b""
        numbers = dict.fromkeys(info >> 32 for _, info, _ in RELOCATION.iter_unpack(data))
        kept = [self.renumbered[n] for n in numbers if n in self.renumbered and n]
        return b"".join(RELOCATION.pack(0, number << 32 | kind, 0) for number in kept)

    def texts(self) -> Iterator[tuple[int, int]]:
        for tag in self.file.get_section_by_name(".dynamic").iter_tags():
            name = tag.entry.d_tag
            if name in TEXTS:
                yield TEXTS[name], self.strings.add(getattr(tag, name[3:].lower()))

    def numbers(self) -> Iterator[tuple[int, int]]:
        for tag in self.file.get_section_by_name(".dynamic").iter_tags():
            if tag.entry.d_tag in NUMBERS:
                yield NUMBERS[tag.entry.d_tag], tag.entry.d_val

    def written(self) -> bytes:
        """The file: the tables, each aligned to 8 bytes, then the dynamic section that refers to them."""
        tables, body = self.tables(), bytearray(HEADER.size + 2 * PROGRAM.size)
        entries = list(self.entries)
        for name, table in tables.items():
            body += bytes(-len(body) % 8)
            entries.append((TABLES[name], len(body)))
            body += table
        body += bytes(-len(body) % 8)
        sizes = {"strings": STRSZ, "relocations": RELASZ, "calls": PLTRELSZ}
        entries += [(tag, len(tables[name])) for name, tag in sizes.items() if name in tables]
        counts = {"needs": (NEEDS, self.need_count), "definitions": (DEFINITIONS, self.definition_count)}
        entries += [count for name, count in counts.items() if name in tables]
        entries += [(PLTREL, RELA)] if "calls" in tables else []
        dynamic = b"".join(ENTRY.pack(*entry) for entry in [*entries, (0, 0)])
        self.put_headers(body, len(dynamic))
        return bytes(body + dynamic)

    def put_headers(self, body: bytearray, dynamic: int) -> None:
        start, whole = len(body), len(body) + dynamic
        self.file.stream.seek(0)
        ident, _, machine, *_ = HEADER.unpack(self.file.stream.read(HEADER.size))
        sizes = (HEADER.size, PROGRAM.size, 2, 0, 0, 0)
        HEADER.pack_into(body, 0, ident, SHARED, machine, 1, 0, HEADER.size, 0, 0, *sizes)
        PROGRAM.pack_into(body, HEADER.size, PT_LOAD, 4, 0, 0, 0, whole, whole, 4096)
        place = HEADER.size + PROGRAM.size
        PROGRAM.pack_into(body, place, PT_DYNAMIC, 4, start, start, start, dynamic, dynamic, 8)


def reduced_elf(path: Path, exports: bool = False) -> bytes:
    with open(path, "rb") as stream:
        return ReducedElf(ELFFile(stream), exports).written()
