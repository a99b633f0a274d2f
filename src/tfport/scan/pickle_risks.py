"""Which files are Python pickles, in whichever wrapping, and how bad the functions are that they name."""

from __future__ import annotations

import lzma
import zlib

from tfport.formats.encoding.pickled_names import (
    PickledNames,
    has_pickle_start,
    is_text_pickle,
    pickled_names,
)
from tfport.scan import file_contents as kinds
from tfport.scan.file_findings import PickleFile
from tfport.scan.risk import ERROR, WARNING, Risk

MOST_PICKLE = 16 << 20
"""Bytes that are looked at."""
MOST_MEMORY = 64 << 20
"""Bytes of the dictionary of LZMA, which a file declares."""
ZLIB_STARTS = (b"x\x01", b"x^", b"x\x9c", b"x\xda")
LZMA_START = b"]\0\0"
MOST_NAMES = 6
_DANGEROUS = """
    CodeType FunctionType __import__ _builtin_type _create_code _create_function _make_function apply
    attrgetter breakpoint call check_output compile delattr dictConfig eval exec execfile file fileConfig
    fork get_file getattr getattribute_from_module globals import_module input listen load load_library
    load_model loads methodcaller open popen read_csv read_pickle remove rename rmtree run run_path runcode
    runstring setattr spawn startfile system unlink urlopen urlretrieve
"""
DANGEROUS = frozenset(_DANGEROUS.split())
"""Functions that run code, or touch files or the network, of whichever package."""
_RUNNERS = """
    _thread asyncio bdb cProfile code codeop commands ctypes distutils doctest ftplib http idlelib
    importlib lib2to3 linecache marshal mlflow multiprocessing nt os pdb pickle pip pkgutil platform posix
    profile pty pydoc requests runpy shutil smtplib socket sqlite3 ssl subprocess sys tarfile telnetlib
    tempfile test threading timeit trace urllib urllib2 uuid venv webbrowser xmlrpc zipimport
"""
RUNNERS = frozenset(_RUNNERS.split())
"""Packages that run programs and code, or use files or the network: no data names them."""


def pickle_names(data: memoryview, name: str) -> PickledNames | None:
    """The names in a pickle, in whichever wrapping; None for another file."""
    data = _unpacked(data)
    head, suffix = bytes(data[:4096]), kinds.suffix_of(name)
    if head.startswith(b"\x93NUMPY"):
        if not kinds.holds_objects(data):
            return None
        start = kinds.elements_start(data)
        return pickled_names(data[start : start + MOST_PICKLE])
    if has_pickle_start(head):
        names = pickled_names(data[:MOST_PICKLE])
        return names if names.is_whole or names.names or suffix in kinds.PICKLE_SUFFIXES else None
    is_named = suffix in (".pkl", ".pickle", ".dill") and bytes(data[-1:]) == b"."
    return pickled_names(data[:MOST_PICKLE]) if is_named or is_text_pickle(head) else None


def _unpacked(data: memoryview) -> memoryview:
    """The pickle that joblib compressed in a format without a magic number; other data as they are."""
    head = bytes(data[:3])
    if head[:2] not in ZLIB_STARTS and head != LZMA_START:
        return data
    try:
        if head == LZMA_START:
            unpacker = lzma.LZMADecompressor(lzma.FORMAT_ALONE, MOST_MEMORY)
            content = unpacker.decompress(bytes(data[:MOST_PICKLE]), MOST_PICKLE)
        else:
            content = zlib.decompressobj().decompress(bytes(data[:MOST_PICKLE]), MOST_PICKLE)
    except (zlib.error, lzma.LZMAError, EOFError):
        return data
    is_pickle = has_pickle_start(content) or is_text_pickle(content[:4096])
    return memoryview(content) if is_pickle else data


def pickle_risk(names: PickledNames, subject: str) -> Risk:
    worst = [name for name in names.names if _is_dangerous(name)]
    shown = ", ".join(f"`{name[:80]}`" for name in (worst or names.names)[:MOST_NAMES])
    why = f"it calls {shown} when it is read" if worst else ""
    detail = f" that names {shown}" if shown and not worst else ""
    return PickleFile(subject=subject, detail=detail, level=ERROR if worst else WARNING, why=why)


def _is_dangerous(name: str) -> bool:
    """Whether a function is no part of data; `?` is a name that the pickle computes."""
    package, *attributes = name.split(".")
    is_inside = any(part.startswith("__") and part.endswith("__") for part in attributes)
    return name == "?" or name.rpartition(".")[2] in DANGEROUS or package in RUNNERS or is_inside
