"""Is a file a library that a machine can load at all? What stands in its header, as the loader sees it.

The order of the questions is that of glibc, and so are the words: the first answer
that is no is what `dlerror` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tfport.errors import UnreadableFile
from tfport.formats.elf.image import Image
from tfport.formats.elf.library import ARM, HEADER_SIZE, MAGIC, X86, Header, Library, read_header
from tfport.formats.other_files import from_first_bytes

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
"""What glibc keeps free for the thread-local storage of libraries that are loaded later."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a file is not loaded."""

    kind: str
    """`foreign`, `cut`, `machine`, `program`, `refuses` or `damaged`."""
    what: str
    """What it is: the end of a sentence that begins with the file."""
    says: str
    """What the loader says after the file's name; what the shell says where the process is ended."""
    instead: str = ""


def machine_text(machine: str) -> str:
    return NAMES.get(machine, machine)


def check_file(data: memoryview, where: str, machine: str) -> Rejection | None:
    """Why a machine does not load a file; None where its header and its segments are in order."""
    return next(_refusals(data, where, machine), None)


def _refusals(data: memoryview, where: str, machine: str) -> Iterator[Rejection]:
    head = bytes(data[:512])
    if not head.startswith(MAGIC):
        yield _foreign(head)
        return
    if len(data) < HEADER_SIZE:
        yield Rejection("cut", f"cut off after {len(data)} bytes, within its header", "file too short")
        return
    header = read_header(data, where)
    yield from _identity(header, machine)
    try:
        library = Library(data, where)
    except UnreadableFile:
        yield Rejection("cut", "cut off before its program headers", "cannot read file data")
        return
    yield from _segments(library)


def _foreign(head: bytes) -> Rejection:
    """A file of another kind; one of fewer bytes than a header is just too short."""
    says = "file too short" if len(head) < HEADER_SIZE else "invalid ELF header"
    if LINKER_SCRIPT.match(head):
        what = "a linker script, which only the linker reads"
        return Rejection("foreign", what, says, "give the library that is named in it")
    if head.startswith(MACH_O):
        return Rejection("foreign", "a library for macOS", says, "build it on Linux")
    if head.startswith(b"!<arch>"):
        return Rejection("foreign", "a static library", says, "link it into a shared one with -shared")
    if head.startswith(b"MZ"):
        return Rejection("foreign", "a library for Windows", says, "build it on Linux")
    known = from_first_bytes(head)
    what = known.name.replace(", not a model", "") if known else "no library, nor any file that tfport knows"
    instead = known.instead if known and known.broken else "give the shared library"
    return Rejection("foreign", what, says, instead)


def _identity(header: Header, machine: str) -> Iterator[Rejection]:
    built = f"a library for {header.machine} of {header.bits} bits, not for {machine_text(machine)}"
    if header.bits != 64 or header.ident[4] != 2:
        yield Rejection("machine", built, "wrong ELF class: ELFCLASS32")
    if header.ident[5] != 1:
        yield Rejection("machine", built, "ELF file data encoding not little-endian")
    if header.ident[6] != 1:
        yield _damaged(
            "its format has a version that there is not", "ELF file version ident does not match current one"
        )
    if header.ident[7] not in (SYSTEM_V, LINUX):
        what = f"made for another system (OS ABI {header.ident[7]})"
        yield Rejection("machine", what, "ELF file OS ABI invalid")
    if header.ident[8] and not (header.ident[7] == LINUX and header.ident[8] < 4):
        yield _damaged("its ABI version is one that there is not", "ELF file ABI version invalid")
    if header.version != 1:
        yield _damaged(
            "its format has a version that there is not", "ELF file version does not match current one"
        )
    if header.machine != machine:
        what = f"a library for {machine_text(header.machine)}, not for {machine_text(machine)}"
        yield Rejection("machine", what, NO_FILE)
    yield from _kind(header)


def _kind(header: Header) -> Iterator[Rejection]:
    if header.kind == "ET_REL":
        instead = "link it into a library: g++ -shared -o my_op.so my_op.o …"
        says = "only ET_DYN and ET_EXEC can be loaded"
        yield Rejection("program", "an object file, compiled but not linked", says, instead)
    elif header.kind not in ("ET_DYN", "ET_EXEC"):
        yield Rejection("program", "no library", "only ET_DYN and ET_EXEC can be loaded")
    if header.entry_size != 56:
        yield _damaged("its program headers have a wrong size", "ELF file's phentsize not the expected size")


def _segments(library: Library) -> Iterator[Rejection]:
    image = library.image
    if not image.loaded:
        yield _damaged("nothing in it is to be loaded", "object file has no loadable segments")
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
        yield Rejection("cut", "cut off: it ends before its segments do", BUS_ERROR, "copy or build it again")
    if library.tag("DT_STRTAB") is None or library.tag("DT_SYMTAB") is None:
        yield _damaged("its dynamic segment names no table of symbols", SEGMENTATION_FAULT)
    if library.is_program:
        says = "cannot dynamically load position-independent executable"
        yield Rejection("program", "a program", says, shared)
    if library.refuses_dlopen:
        yield Rejection(
            "refuses", "linked with -z nodlopen", "shared object cannot be dlopen()ed", "link it without"
        )

    if library.static_storage > TLS_LEFT:
        what = f"it wants {library.static_storage:,} bytes of thread-local storage from the start"
        says, instead = (
            "cannot allocate memory in static TLS block",
            "compile it without -ftls-model=initial-exec",
        )
        yield Rejection("refuses", what, says, instead)


def ends_early(image: Image) -> bool:
    """Whether memory would be mapped that the file has not: all is there up to the end of the last page."""
    return any(s.offset + s.size > len(image.data) for s in image.loaded)


def _damaged(what: str, says: str) -> Rejection:
    return Rejection("damaged", what, says, "copy or build it again")
