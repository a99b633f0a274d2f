"""Check from its file whether a custom-op library can be loaded, before loading it.

`check_library(path)` returns the record of the library, or raises BadLibrary. For a library built
for TensorFlow the error says so, and how to port it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfport.errors import BadLibrary, UnreadableFile
from tfport.formats.elf.mangling import short_name
from tfport.lib.origin import is_of_tensorflow
from tfport.lib.subject import LibrarySubject, LoadOptions
from tfport.lib.tensorflow_libraries import is_tensorflow
from tfport.runtime.native.library_record import ABI, HEADER, LibraryRecord, read_record
from tfport.runtime.native.tvm_ffi import TvmFfi, installed_tvm_ffi

MAX_LISTED = 3
REBUILD = "rebuild it with `tfport lib build`"


def check_library(path: str | Path) -> LibraryRecord:
    """The record of a library that can be loaded; BadLibrary otherwise."""
    ffi = installed_tvm_ffi()
    with _as_bad_library():
        subject = _subject(path, str(ffi.libraries))
        record = read_record(subject.library)
        if record is None:
            raise BadLibrary(_no_record(subject))
        _check_versions(record, ffi)
        _check_dependencies(subject)
        return record


def read_library(path: str | Path) -> tuple[LibrarySubject, LibraryRecord | None]:
    """A library and its record, for any machine; None if it was not built for tfport."""
    with _as_bad_library():
        subject = _subject(path, "", machine=None)
        return subject, read_record(subject.library)


@contextmanager
def _as_bad_library() -> Iterator[None]:
    try:
        yield
    except UnreadableFile as error:
        raise BadLibrary(str(error)) from None


def _subject(path: str | Path, library_path: str, machine: str | None = platform.machine()) -> LibrarySubject:
    name = os.fspath(path)
    subject = LibrarySubject(name, name, LoadOptions([library_path] if library_path else [], machine=machine))
    if subject.open_error is not None:
        raise BadLibrary(f"{name}: {subject.open_error[0]}")
    if subject.rejection is not None:
        instead = f"; {subject.rejection.instead}" if subject.rejection.instead else ""
        raise BadLibrary(f"{name}: {subject.rejection.what}{instead}")
    return subject


def _no_record(subject: LibrarySubject) -> str:
    """Why a library without a record cannot be loaded."""
    library = subject.library
    of_tensorflow = any(map(is_tensorflow, library.needed)) or any(
        is_of_tensorflow(symbol.name) for symbol in library.symbols.undefined
    )
    if not of_tensorflow:
        return f"{subject.file}: registers no ops with tfport; {REBUILD}"
    ops = subject.registered.op_names or subject.registered.kernel_ops
    origins = subject.origin.describe()
    named = ", ".join(ops[:MAX_LISTED]) + (
        f" and {len(ops) - MAX_LISTED} more" if len(ops) > MAX_LISTED else ""
    )
    built = f", built with {origins[0]}" if origins else ""
    return (
        f"{subject.file}: a library for TensorFlow{built}; it registers {named or 'no visible ops'}. "
        "tfport cannot load libraries for TensorFlow: port its ops with `tfport lib new`; "
        f"`tfport lib {subject.file}` says which releases of TensorFlow load this one"
    )


def _check_versions(record: LibraryRecord, ffi: TvmFfi) -> None:
    if record.abi != ABI:
        raise BadLibrary(
            f"{record.where}: built for ABI {record.abi} of tfport; this tfport has {ABI}: {REBUILD}"
        )
    if record.header[0] != HEADER[0] or record.header > HEADER:
        theirs, ours = (".".join(map(str, version)) for version in (record.header, HEADER))
        raise BadLibrary(
            f"{record.where}: built with tfport/op.h {theirs}; this tfport has {ours}: {REBUILD}"
        )
    if record.ffi[0] != ffi.version[0] or record.ffi[1] > ffi.version[1]:
        theirs, ours = (".".join(map(str, version)) for version in (record.ffi, ffi.version))
        raise BadLibrary(f"{record.where}: built with tvm-ffi {theirs}; {ours} is installed: {REBUILD}")


def _check_dependencies(subject: LibrarySubject) -> None:
    """Check that the loader would find all libraries, versions and symbols."""
    closure = subject.closure
    absent = [*(search.name for search, _ in closure.missing), *closure.of_tensorflow]
    if absent:
        raise BadLibrary(f"{subject.file}: needs {', '.join(absent)}, not found on this machine")
    lack = next(closure.missing_versions({}), None)
    if lack is not None:
        required = f"{lack.version} of {os.path.basename(lack.provider)}"
        raise BadLibrary(f"{subject.file}: needs {required}; this machine has an older version")
    wanted = [
        short_name(symbol.name) for loaded in closure.own_libraries() for symbol in closure.undefined(loaded)
    ]
    if wanted:
        more = f" and {len(wanted) - MAX_LISTED} more" if len(wanted) > MAX_LISTED else ""
        named = ", ".join(wanted[:MAX_LISTED])
        raise BadLibrary(f"{subject.file}: needs {named}{more}, which none of its libraries defines")
