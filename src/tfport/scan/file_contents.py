"""What the first bytes of a file say that it is, and whether its suffix says something else."""

from __future__ import annotations

import posixpath
import re
from math import prod

from tfport.formats.archive.open import is_tar

ELF, PE, MACH_O = (
    "an ELF library or program",
    "a Windows library or program",
    "a macOS program or a Java class",
)
HDF5, ZIP, TAR, LITE, NUMPY = (
    "an HDF5 file",
    "a zip archive",
    "a tar archive",
    "a TensorFlow Lite model",
    "a NumPy array",
)
GZIP, BZIP2, XZ = "a file compressed with gzip", "a file compressed with bzip2", "a file compressed with xz"
SEVEN_ZIP, RAR, ZSTD = "a 7z archive", "a RAR archive", "a file compressed with zstandard"
PNG, JPEG, GIF, PDF = "a PNG image", "a JPEG image", "a GIF image", "a PDF document"
PICKLE, SCRIPT, BYTECODE = "a Python pickle", "a script", "compiled Python"
NATIVE = (ELF, PE, MACH_O)
PACKED = (GZIP, BZIP2, XZ)
CLOSED = (SEVEN_ZIP, RAR, ZSTD)
"""Archives that tfport does not open."""
MAGICS: tuple[tuple[bytes, str], ...] = (
    (b"\x7fELF", ELF), (b"\xfe\xed\xfa\xce", MACH_O), (b"\xfe\xed\xfa\xcf", MACH_O),
    (b"\xce\xfa\xed\xfe", MACH_O),
    (b"\xcf\xfa\xed\xfe", MACH_O), (b"\xca\xfe\xba\xbe", MACH_O), (b"\x89HDF\r\n\x1a\n", HDF5),
    (b"PK\x03\x04", ZIP), (b"PK\x05\x06", ZIP), (b"\x1f\x8b", GZIP), (b"BZh", BZIP2), (b"\xfd7zXZ\x00", XZ),
    (b"7z\xbc\xaf\x27\x1c", SEVEN_ZIP), (b"Rar!", RAR), (b"\x28\xb5\x2f\xfd", ZSTD), (b"\x93NUMPY", NUMPY),
    (b"\x89PNG", PNG), (b"\xff\xd8\xff", JPEG), (b"GIF8", GIF), (b"%PDF", PDF),
    (b"#!/", SCRIPT), (b"#! /", SCRIPT),
)  # fmt: skip
SCRIPT_SUFFIXES = frozenset(
    (".py", ".pyw", ".sh", ".bash", ".bat", ".cmd", ".ps1", ".vbs", ".pl", ".rb", ".php", ".jar", ".lnk")
)
BYTECODE_SUFFIXES = frozenset((".pyc", ".pyo"))
PICKLE_SUFFIXES = frozenset((".pkl", ".pickle", ".joblib", ".dill", ".pt", ".pth"))
_NOTHING = frozenset[str]()
_TEXTS = dict.fromkeys((".txt", ".md", ".csv", ".json", ".pbtxt", ".yaml", ".yml", ".vocab"), _NOTHING)
_MESSAGES = dict.fromkeys((".pb", ".index", ".meta"), _NOTHING)
CLAIMS: dict[str, frozenset[str]] = {
    ".keras": frozenset((ZIP, HDF5)), ".h5": frozenset((HDF5,)), ".hdf5": frozenset((HDF5,)),
    ".tflite": frozenset((LITE,)), ".npy": frozenset((NUMPY,)), ".npz": frozenset((ZIP,)),
    ".png": frozenset((PNG,)), ".jpg": frozenset((JPEG,)), ".jpeg": frozenset((JPEG,)),
    ".gif": frozenset((GIF,)),
    **_TEXTS, **_MESSAGES,
}  # fmt: skip
"""The contents that a suffix promises; nothing for those that have no magic number."""
SHAPE = re.compile(rb"'shape'\s*:\s*\(((?:\s*\d{1,18}\s*,?)*)\)")
OBJECTS = re.compile(rb"""(?:['"]descr['"]\s*:|,)\s*['"][|<>=]?O\d*['"]|\\""")
"""In the header of a NumPy array that has Python objects or fields of them, or hides its types: a pickle."""
MOST_HEADER = 1 << 16


def suffix_of(name: str) -> str:
    return posixpath.splitext(name)[1].lower()


def content_of(data: memoryview, name: str) -> str:
    """What a file is, by its first bytes; empty if they do not say. Pickles are recognized elsewhere."""
    head = bytes(data[:1024])
    if kind := next((kind for magic, kind in MAGICS if head.startswith(magic)), ""):
        return kind
    if head[4:8] == b"TFL3":
        return LITE
    if head[:2] == b"MZ" and _is_windows_program(data):
        return PE
    if is_tar(head):
        return TAR
    return BYTECODE if suffix_of(name) in BYTECODE_SUFFIXES or _is_bytecode(head) else ""


def _is_windows_program(data: memoryview) -> bool:
    at = int.from_bytes(data[60:64], "little")
    return bytes(data[at : at + 4]) == b"PE\0\0"


def _is_bytecode(head: bytes) -> bool:
    """Whether this is a `.pyc`: a number of the release, and marshalled code after 12 or 16 bytes."""
    return head[2:4] == b"\r\n" and any(head[at : at + 1] in (b"\xe3", b"c") for at in (8, 12, 16))


def contradicts(kind: str, name: str) -> bool:
    """Whether the suffix of a file promises something else than it is."""
    promised = CLAIMS.get(suffix_of(name))
    return bool(kind) and promised is not None and kind not in promised


def holds_objects(data: memoryview) -> bool:
    """Whether a NumPy array has Python objects, which are stored as a pickle."""
    return OBJECTS.search(_array_header(data)) is not None


def elements_start(data: memoryview) -> int:
    """Where the elements of a NumPy array begin. The length before its header has 4 bytes since version 2."""
    size = 2 if bytes(data[6:7]) == b"\1" else 4
    return 8 + size + int.from_bytes(data[8 : 8 + size], "little")


def _array_header(data: memoryview) -> bytes:
    return bytes(data[: min(elements_start(data), MOST_HEADER)])


def declared_elements(data: memoryview) -> int:
    """The number of elements that the header of a NumPy array declares."""
    stated = SHAPE.search(_array_header(data))
    return prod(int(size) for size in stated[1].split(b",") if size.strip()) if stated else 0
