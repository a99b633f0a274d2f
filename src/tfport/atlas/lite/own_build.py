"""The registry of a TensorFlow Lite build of one's own: from source, a library or an Android archive.

- A source file lists ops as an op resolver does: `AddBuiltin(BuiltinOperator_ABS, Register_ABS(), 1, 5)`,
  `AddCustom("Acme", …)`. It says everything.
- A `libtensorflowlite*.so` says which ops it registers by its symbols (`tflite::ops::builtin::Register_ABS`),
  not in which versions. One without such symbols, as in most apps, says nothing: its ops are unknown.
- An `.aar` is a zip file with such libraries.

A library is read and never loaded.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable

from tfport.atlas.lite.releases import LiteRegistry
from tfport.errors import Error, UnreadableFile
from tfport.formats.files import reason
from tfport.formats.lite.schema import lite_schema

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
BUILTIN = re.compile(
    r"\bAddBuiltin\s*\(\s*(?:::)?(?:tflite::)?BuiltinOperator_(?P<op>\w+)\s*,[^;]*?"
    r"(?:,\s*(?P<first>\d+)\s*)?(?:,\s*(?P<last>\d+)\s*)?\)\s*;"
)
CUSTOM = re.compile(r'\bAddCustom\s*\(\s*"(?P<op>[^"]+)"')
SYMBOL = re.compile(r"_ZN6tflite3ops7builtin\d+Register_(?P<op>[A-Z0-9_]+)Ev")
CUSTOM_SYMBOL = re.compile(r"_ZN6tflite3ops6custom\d+Register_(?P<op>\w+)Ev")
CUSTOM_NAMES = {
    "DETECTION_POSTPROCESS": "TFLite_Detection_PostProcess",
    "MFCC": "Mfcc",
    "AUDIO_SPECTROGRAM": "AudioSpectrogram",
    "NUMERIC_VERIFY": "NumericVerify",
}
"""The names of custom ops whose functions are called otherwise."""
SOURCES = (".cc", ".cpp", ".cxx")
ARCHIVE = ".aar"
LIBRARY = re.compile(r"(tensorflowlite|tflite|litert)", re.IGNORECASE)
MOST = 1 << 29
"""The largest source file or library of an archive that is read."""


def is_lite_build(path: str) -> bool:
    """Whether a file is a build of TensorFlow Lite, or the source of an op resolver, by its name."""
    name = os.path.basename(path)
    return name.endswith((*SOURCES, ARCHIVE)) or (".so" in name and LIBRARY.search(name) is not None)


def read_lite_build(path: str) -> LiteRegistry:
    """What a build registers, as far as the file says."""
    name = os.path.basename(path)
    try:
        if name.endswith(SOURCES):
            with open(path, encoding="utf-8", errors="replace") as file:
                return registry_of_source(file.read(MOST), name)
        if name.endswith(ARCHIVE):
            return registry_of_symbols(*_library_of_archive(path))
        with open(path, "rb") as binary:
            return registry_of_symbols(_symbols(binary.read(MOST), path), name)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None


def registry_of_source(text: str, name: str) -> LiteRegistry:
    """The ops that the source of an op resolver adds."""
    code = COMMENT.sub(" ", text)
    ops: dict[str, frozenset[int]] = {}
    for match in BUILTIN.finditer(code):
        first = int(match["first"] or 1)
        versions = range(first, int(match["last"] or first) + 1)
        ops[match["op"]] = ops.get(match["op"], frozenset()) | frozenset(versions)
    if not ops:
        raise Error(
            f"{name}: no `AddBuiltin(BuiltinOperator_…)`; expected the source of an op resolver, such as "
            "TensorFlow Lite's register.cc"
        )
    customs = frozenset(match["op"] for match in CUSTOM.finditer(code))
    return LiteRegistry(name, "", "", dict(ops), newest=None, custom_ops=customs)


def registry_of_symbols(symbols: Iterable[str], name: str) -> LiteRegistry:
    """The ops that the symbols of a library name; their versions are unknown."""
    known, customs = lite_schema().enums["BuiltinOperator"].numbers, set[str]()
    ops: dict[str, frozenset[int] | None] = {}
    for symbol in symbols:
        if (match := SYMBOL.fullmatch(symbol)) and match["op"] in known:
            ops[match["op"]] = None
        elif match := CUSTOM_SYMBOL.fullmatch(symbol):
            customs.add(CUSTOM_NAMES.get(match["op"], match["op"]))
    return LiteRegistry(name, "", "", ops, newest=None, custom_ops=frozenset(customs), is_complete=False)


def _symbols(data: bytes, where: str) -> frozenset[str]:
    from tfport.formats.elf.library import ElfLibrary  # imported here, as it needs NumPy

    library = ElfLibrary(memoryview(data), where)
    return library.symbols.defined if library.has_dynamic else frozenset()


def _library_of_archive(path: str) -> tuple[frozenset[str], str]:
    """The symbols of the first TensorFlow Lite library of an Android archive, and its name."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [i for i in archive.infolist() if is_lite_build(i.filename) and ".so" in i.filename]
            if not members:
                raise Error(
                    f"{path}: no TensorFlow Lite library (jni/…/libtensorflowlite*.so) in the archive"
                )
            chosen = min(members, key=lambda info: info.filename)
            if chosen.file_size > MOST:
                raise Error(
                    f"{path}: {chosen.filename} has {chosen.file_size:,} bytes; expected below {MOST:,}"
                )
            name = f"{os.path.basename(path)}:{chosen.filename}"
            return _symbols(archive.read(chosen), name), name
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError) as error:
        raise UnreadableFile(f"{path}: not a readable zip file: {error}") from None
