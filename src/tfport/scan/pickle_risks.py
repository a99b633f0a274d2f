"""Which files are Python pickles, in whichever wrapping, and how bad the functions are that they name."""

from __future__ import annotations

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
MOST_NAMES = 6
_DANGEROUS = """
    __import__ apply breakpoint call check_output compile delattr eval exec execfile file fork get_file
    getattr globals import_module input load load_library loads open popen read_csv read_pickle remove
    rename rmtree run run_path runcode runstring setattr spawn startfile system unlink urlopen
    urlretrieve
"""
DANGEROUS = frozenset(_DANGEROUS.split())
"""Functions that run code, or touch files or the network, of whichever package."""
_RUNNERS = """
    asyncio bdb cProfile code codeop commands ctypes distutils doctest ftplib http idlelib importlib
    lib2to3 marshal mlflow multiprocessing nt os pdb pickle pip pkgutil platform posix profile pty pydoc
    requests runpy shutil smtplib socket ssl subprocess sys telnetlib tempfile test threading timeit
    trace urllib urllib2 uuid venv webbrowser xmlrpc zipimport
"""
RUNNERS = frozenset(_RUNNERS.split())
"""Packages that run programs and code, or use files or the network: no data names them."""


def pickle_names(data: memoryview, name: str) -> PickledNames | None:
    """The names in a pickle, in whichever wrapping; None for another file."""
    head, suffix = bytes(data[:4096]), kinds.suffix_of(name)
    if suffix in kinds.PICKLE_SUFFIXES and head[:1] == b"\x78":  # as joblib compresses
        try:
            data = memoryview(zlib.decompressobj().decompress(bytes(data[:MOST_PICKLE]), MOST_PICKLE))
        except zlib.error:
            return None
        head = bytes(data[:4096])
    if head.startswith(b"\x93NUMPY"):
        if not kinds.holds_objects(data):
            return None
        at = 10 + int.from_bytes(head[8:10], "little")
        return pickled_names(data[at : at + MOST_PICKLE])
    if has_pickle_start(head):
        names = pickled_names(data[:MOST_PICKLE])
        return names if names.is_whole or names.names or suffix in kinds.PICKLE_SUFFIXES else None
    is_named = suffix in (".pkl", ".pickle", ".dill") and bytes(data[-1:]) == b"."
    return pickled_names(data[:MOST_PICKLE]) if is_named or is_text_pickle(head) else None


def pickle_risk(names: PickledNames, subject: str) -> Risk:
    worst = [name for name in names.names if _is_dangerous(name)]
    shown = ", ".join(f"`{name[:80]}`" for name in (worst or names.names)[:MOST_NAMES])
    why = f"it calls {shown} when it is read" if worst else ""
    detail = f" that names {shown}" if shown and not worst else ""
    return PickleFile(subject=subject, detail=detail, level=ERROR if worst else WARNING, why=why)


def _is_dangerous(name: str) -> bool:
    """Whether a function is no part of data; `?` is a name that the pickle computes."""
    package, last = name.partition(".")[0], name.rpartition(".")[2]
    return name == "?" or last in DANGEROUS or package in RUNNERS
