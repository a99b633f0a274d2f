"""Libraries are read as pyelftools reads them, but without section headers."""

import json
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from tfport.errors import UnreadableFile
from tfport.formats.elf.library import ElfLibrary, read_header
from tfport.formats.files import Folder

FOLDER = Path(__file__).parents[2] / "libraries"
OUTCOMES = json.loads((FOLDER / "outcomes.json").read_text())["outcomes"]
LOADING = sorted({o["file"] for o in OUTCOMES.values() if o["loads"] and o["file"].endswith(".so")})
WHOLE = [name for name in LOADING if not name.startswith(("without_section_headers", "cut_after_segments"))]
EVERY = sorted({o["file"] for o in OUTCOMES.values() if (FOLDER / o["file"]).is_file()})


def library(name):
    return ElfLibrary(Folder(FOLDER).map(name), name)


@pytest.mark.parametrize("name", WHOLE)
def test_the_dynamic_segment_is_read(name):
    ours = library(name)
    with open(FOLDER / name, "rb") as file:
        elf = ELFFile(file)
        tags = list(elf.get_section_by_name(".dynamic").iter_tags())
        assert ours.needed == [tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"]
        paths = [[tag.runpath for tag in tags if tag.entry.d_tag == "DT_RUNPATH"]]
        paths += [[tag.rpath for tag in tags if tag.entry.d_tag == "DT_RPATH"]]
        assert [ours.runpath, ours.rpath] == [":".join(path).split(":") if path else [] for path in paths]


@pytest.mark.parametrize("name", WHOLE)
def test_symbols_and_their_versions_are_read(name):
    ours = library(name)
    with open(FOLDER / name, "rb") as file:
        elf = ELFFile(file)
        table = [s for s in elf.get_section_by_name(".dynsym").iter_symbols() if s.name]
        undefined = [s for s in table if s.entry.st_shndx == "SHN_UNDEF"]
        weak = {s.name for s in undefined if s.entry.st_info.bind == "STB_WEAK"}
        assert [u.name for u in ours.symbols.undefined] == [s.name for s in undefined]
        assert {u.name for u in ours.symbols.undefined if u.is_weak} == weak
        assert ours.symbols.defined == {s.name for s in table if s not in undefined}
        wanted = elf.get_section_by_name(".gnu.version_r")
        versions = {v.name: {a.name for a in aux} for v, aux in wanted.iter_versions()} if wanted else {}
        assert {file: set(names) for file, names in ours.required_versions.items()} == versions


def test_section_headers_are_not_needed():
    with_headers, without = library("good/op.so"), library("without_section_headers/op.so")
    assert without.needed == with_headers.needed
    assert without.symbols.undefined == with_headers.symbols.undefined
    assert without.bound == with_headers.bound


def test_symbols_are_bound_in_the_order_of_the_relocations():
    with open(FOLDER / "good/op.so", "rb") as file:
        elf = ELFFile(file)
        segment = next(s for s in elf.iter_segments() if isinstance(s, DynamicSegment))
        symbols = elf.get_section_by_name(".dynsym")
        tables = segment.get_relocation_tables()
        numbers = [r["r_info_sym"] for name in ("RELA", "JMPREL") for r in tables[name].iter_relocations()]
        names = [symbols.get_symbol(n) for n in dict.fromkeys(numbers) if n]
        assert library("good/op.so").bound == [s.name for s in names if s.entry.st_shndx == "SHN_UNDEF"]


def test_a_symbol_has_the_library_of_its_version():
    undefined = {u.name: u for u in library("good/op.so").symbols.undefined}
    assert (undefined["_Znwm"].version, undefined["_Znwm"].library) == ("GLIBCXX_3.4", "libstdc++.so.6")


MACHINES = {  # folder: machine, bits, kind
    "good": ("x86_64", 64, "ET_DYN"),
    "arm64": ("aarch64", 64, "ET_DYN"),
    "executable": ("x86_64", 64, "ET_EXEC"),
    "object_file": ("x86_64", 64, "ET_REL"),
    "bits_32": ("Intel 80386", 32, "ET_DYN"),
}


@pytest.mark.parametrize(("folder", "wanted"), MACHINES.items())
def test_a_header_has_the_machine(folder, wanted):
    header = read_header(Folder(FOLDER).map(f"{folder}/op.so"), folder)
    assert (header.machine, header.bits, header.kind) == wanted


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("cut", [0, 3, 16, 63, 64, 500, 4096, 9000])
def test_a_truncated_file_gives_an_error(name, cut):
    message = ""
    try:
        elf = ElfLibrary(Folder(FOLDER).map(name)[:cut], name)
        _ = (
            elf.needed,
            elf.symbols.undefined,
            elf.bound,
            elf.required_versions,
            elf.defined_versions,
        )
    except UnreadableFile as error:
        message = str(error)
    assert not message or message.startswith(f"{name}: ")
