"""Files that are not op libraries, are for another machine, are damaged, or are not at the path."""

import gzip
import io
import zipfile

import damage
from case import Case, Load
from op_cases import ARM64, POINTER
from steps import content, from_good, program

BARE = ("-shared", "-nostdlib")
SCRIPT = "/* GNU ld script */\nINPUT ( libtensorflow_framework.so.2 -lstdc++ -lgcc_s -lc )\n"
PAGE = f"<!DOCTYPE html>\n<html lang=en><title>op.so at main</title>{' ' * 40}</html>\n"
SOURCE = "import tensorflow as tf\n\nacme = tf.load_op_library('./op.so')\nprint(acme.acme_copy([1.0]))\n"
ARCHIVE = "!<arch>\nop.o/           0           0     0     644     4         `\n....\n"
DLL = b"MZ" + bytes(58) + (64).to_bytes(4, "little") + b"PE\0\0\x64\x86" + bytes(58)
MACH_O = bytes.fromhex("cffaedfe 0c000001 00000000 06000000") + bytes(112)
UNIVERSAL = bytes.fromhex("cafebabe 00000002 01000007 00000003") + bytes(112)


def wheel() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("acme/op.so"), "")
    return file.getvalue()


FILES = {
    "bits_32": Case("for 32-bit x86", [program("-m32", *BARE, source="nothing.c")]),
    "arm64": Case("for ARM64", [program(*ARM64, compiler="aarch64-linux-gnu-gcc", source="nothing.c")]),
    "big_endian": Case("marked as big-endian", [from_good(damage.big_endian)]),
    "of_freebsd": Case("marked as a FreeBSD library", [from_good(damage.of_another_system)]),
    "of_windows": Case("a Windows DLL", [content(DLL)]),
    "of_macos": Case("a macOS library", [content(MACH_O)]),
    "of_macos_universal": Case("a macOS library for two architectures", [content(UNIVERSAL)]),
    "executable": Case("a program with a fixed address", [program("-no-pie")]),
    "executable_pie": Case("a position-independent program", [program("-pie")]),
    "object_file": Case("an object file that was not linked", [program("-c", source="nothing.c")]),
    "static_archive": Case("a static archive", [content(ARCHIVE)]),
    "linker_script": Case("a linker script", [content(SCRIPT)]),
    "lfs_pointer": Case("a Git LFS pointer", [content(POINTER)]),
    "web_page": Case("a web page saved under this name", [content(PAGE)]),
    "python_source": Case("a Python source", [content(SOURCE)]),
    "wheel": Case("a wheel", [content(wheel())]),
    "compressed": Case("compressed", [from_good(lambda library: gzip.compress(library, mtime=0))]),
    "empty": Case("an empty file", [content("")]),
    "zeros": Case("zeros", [content(bytes(4096))]),
    "cut_in_header": Case("the first 32 bytes", [from_good(damage.cut_in_the_header)]),
    "cut_after_header": Case("the header alone", [from_good(damage.cut_after_the_header)]),
    "cut_in_middle": Case("the first half: an interrupted download", [from_good(damage.cut_in_the_middle)]),
    "cut_in_dynamic_section": Case(
        "truncated in the dynamic section", [from_good(damage.cut_in_the_dynamic_section)]
    ),
    "cut_after_segments": Case("truncated after the segments", [from_good(damage.without_the_end)]),
    "zeros_from_middle": Case("the second half is zeros", [from_good(damage.zeros_from_the_middle)]),
    "dynamic_section_ends_early": Case(
        "the dynamic section starts with its end marker", [from_good(damage.zeros_in_the_dynamic_section)]
    ),
    "transferred_as_text": Case("line ends changed in transfer", [from_good(damage.in_text_mode)]),
    "without_section_headers": Case(
        "no section headers, which loaders do not read", [from_good(damage.without_section_headers)]
    ),
}
GOOD = "good/op.so"
PATHS = {
    "missing": Case("no such file", file="missing/op.so"),
    "a_folder": Case("a folder", file="good"),
    "below_a_file": Case("a path through a file", file="good/op.so/op.so"),
    "no_permission": Case("readable only for its owner", load=Load(mode="600"), file=GOOD),
    "not_executable": Case("not executable", load=Load(mode="644"), file=GOOD),
    "bare_name": Case(
        "a name without a slash, in the working directory only",
        load=Load("op.so"),
        file=GOOD,
    ),
    "bare_name_on_library_path": Case(
        "a name without a slash, in a folder of LD_LIBRARY_PATH",
        load=Load("op.so", library_path="."),
        file=GOOD,
    ),
    "relative_path": Case("a relative path from the right folder", load=Load("./op.so"), file=GOOD),
    "relative_path_elsewhere": Case(
        "a relative path from another folder", load=Load("./op.so", folder=".."), file=GOOD
    ),
    "home_in_path": Case("~, which only shells expand", load=Load("~/op.so"), file=GOOD),
}
