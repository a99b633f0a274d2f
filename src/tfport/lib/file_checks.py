"""Check whether a file is a library that a machine can load, from its header and segments.

The order of the checks and the messages are those of glibc: the first check that fails gives
the message of `dlerror`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tfport.errors import UnreadableFile
from tfport.formats.elf.image import Image
from tfport.formats.elf.library import ARM, HEADER_SIZE, MAGIC, X86, ElfHeader, ElfLibrary, read_header
from tfport.formats.other_files import from_first_bytes
from tfport.startup.dataclass import dataclass

NAMES = {X86: "x86-64", ARM: "ARM64"}
MACH_O = (
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
)
LINKER_SCRIPT = re.compile(rb"\s*(/\*.*?\*/\s*)*(INPUT|GROUP|OUTPUT_FORMAT)\s*\(", re.DOTALL)
SYSTEM_V, LINUX = 0, 3
NO_FILE = "cannot open shared object file: No such file or directory"
PAGE = 4096
BUS_ERROR = "Bus error (core dumped)"
SEGMENTATION_FAULT = "Segmentation fault (core dumped)"
TLS_LEFT = 1664
"""The static thread-local storage that glibc reserves for libraries loaded later, in bytes."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a file cannot be loaded."""

    kind: str
    """`not a library`, `truncated`, `machine`, `program`, `not for dlopen` or `damaged`."""
    what: str
    """What the file is, after its name in a sentence."""
    says: str
    """The loader's message after the file name, or the shell's message if the process crashes."""
    instead: str = ""


def machine_text(machine: str) -> str:
    return NAMES.get(machine, machine)


def check_file(data: memoryview, where: str, machine: str) -> Rejection | None:
    """Why a machine cannot load a file; None if its header and segments are valid."""
    return next(_rejections(data, where, machine), None)


def _rejections(data: memoryview, where: str, machine: str) -> Iterator[Rejection]:
    head = bytes(data[:512])
    if not head.startswith(MAGIC):
        yield _foreign(head)
        return
    if len(data) < HEADER_SIZE:
        yield Rejection(
            "truncated", f"truncated after {len(data)} bytes, within its header", "file too short"
        )
        return
    header = read_header(data, where)
    yield from _identity(header, machine)
    try:
        library = ElfLibrary(data, where)
    except UnreadableFile:
        yield Rejection("truncated", "truncated before its program headers", "cannot read file data")
        return
    yield from _segments(library)


def _foreign(head: bytes) -> Rejection:
    """The rejection of a file of another format, or of one shorter than a header."""
    says = "file too short" if len(head) < HEADER_SIZE else "invalid ELF header"
    if LINKER_SCRIPT.match(head):
        what = "a linker script, which only linkers can read"
        return Rejection("not a library", what, says, "use the library that it names")
    if head.startswith(MACH_O):
        return Rejection("not a library", "a library for macOS", says, "build it on Linux")
    if head.startswith(b"!<arch>"):
        return Rejection("not a library", "a static library", says, "link it into a shared one with -shared")
    if head.startswith(b"MZ"):
        return Rejection("not a library", "a library for Windows", says, "build it on Linux")
    known = from_first_bytes(head)
    what = known.name.replace(", not a model", "") if known else "neither a library nor a known file format"
    instead = known.instead if known and known.broken else "use the shared library"
    return Rejection("not a library", what, says, instead)


def _identity(header: ElfHeader, machine: str) -> Iterator[Rejection]:
    built = f"a {header.bits}-bit library for {header.machine}, not for {machine_text(machine)}"
    if header.bits != 64 or header.ident[4] != 2:
        yield Rejection("machine", built, "wrong ELF class: ELFCLASS32")
    if header.ident[5] != 1:
        yield Rejection("machine", built, "ELF file data encoding not little-endian")
    if header.ident[6] != 1:
        yield _damaged(
            "its format version does not exist", "ELF file version ident does not match current one"
        )
    if header.ident[7] not in (SYSTEM_V, LINUX):
        what = f"built for another system (OS ABI {header.ident[7]})"
        yield Rejection("machine", what, "ELF file OS ABI invalid")
    if header.ident[8] and not (header.ident[7] == LINUX and header.ident[8] < 4):
        yield _damaged("its ABI version does not exist", "ELF file ABI version invalid")
    if header.version != 1:
        yield _damaged("its format version does not exist", "ELF file version does not match current one")
    if header.machine != machine:
        what = f"a library for {machine_text(header.machine)}, not for {machine_text(machine)}"
        yield Rejection("machine", what, NO_FILE)
    yield from _kind(header)


def _kind(header: ElfHeader) -> Iterator[Rejection]:
    if header.kind == "ET_REL":
        instead = "link it into a library: g++ -shared -o my_op.so my_op.o …"
        says = "only ET_DYN and ET_EXEC can be loaded"
        yield Rejection("program", "an object file, which is compiled but not linked", says, instead)
    elif header.kind not in ("ET_DYN", "ET_EXEC"):
        yield Rejection("program", "not a library", "only ET_DYN and ET_EXEC can be loaded")
    if header.entry_size != 56:
        yield _damaged(
            "its program headers have the wrong size", "ELF file's phentsize not the expected size"
        )


def _segments(library: ElfLibrary) -> Iterator[Rejection]:
    image = library.image
    if not image.loaded:
        yield _damaged("it has no loadable segments", "object file has no loadable segments")
    if any(segment.align & PAGE - 1 for segment in image.loaded):
        yield _damaged("its segments are not aligned", "ELF load command alignment not page-aligned")
    if any(s.align and (s.address - s.offset) & s.align - 1 for s in image.loaded):
        yield _damaged("its segments are not aligned", "ELF load command address/offset not page-aligned")
    shared = "build a library: g++ -shared -fPIC"
    if library.header.kind == "ET_EXEC":
        yield Rejection("program", "a program", "cannot dynamically load executable", shared)
    if not library.has_dynamic:
        yield _damaged("it has no dynamic segment", "object file has no dynamic section")
    if ends_early(image):
        yield Rejection(
            "truncated", "truncated: it ends before its segments", BUS_ERROR, "copy or build it again"
        )
    if library.tag("DT_STRTAB") is None or library.tag("DT_SYMTAB") is None:
        yield _damaged("its dynamic segment has no symbol table", SEGMENTATION_FAULT)
    if library.is_program:
        says = "cannot dynamically load position-independent executable"
        yield Rejection("program", "a program", says, shared)
    if library.refuses_dlopen:
        yield Rejection(
            "not for dlopen",
            "linked with -z nodlopen",
            "shared object cannot be dlopen()ed",
            "link it without this option",
        )

    if library.static_storage > TLS_LEFT:
        what = f"it needs {library.static_storage:,} bytes of static thread-local storage"
        says, instead = (
            "cannot allocate memory in static TLS block",
            "compile it without -ftls-model=initial-exec",
        )
        yield Rejection("not for dlopen", what, says, instead)


def ends_early(image: Image) -> bool:
    """Whether a segment extends beyond the end of the file."""
    return any(s.offset + s.size > len(image.data) for s in image.loaded)


def _damaged(what: str, says: str) -> Rejection:
    return Rejection("damaged", what, says, "copy or build it again")
