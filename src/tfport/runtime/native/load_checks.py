"""May a library of ops be loaded here? Everything that its file tells, asked before it is.

`check_library(path)` answers with what the library says about itself, or raises BadLibrary with one
sentence. A library of TensorFlow's is refused with what `tfport lib` finds out, and how to port it.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfport.check.lib.diagnosis import LibrarySubject, LoadOptions
from tfport.check.lib.origin import is_of_tensorflow
from tfport.check.lib.tensorflow_libraries import is_tensorflow
from tfport.errors import BadLibrary, UnreadableFile
from tfport.formats.elf.mangling import short_name
from tfport.runtime.native.library_record import ABI, HEADER, LibraryRecord, read_record
from tfport.runtime.native.tvm_ffi import TvmFfi, installed_tvm_ffi

MOST_NAMED = 3
AGAIN = "build it again with `tfport lib build`"


def check_library(path: str | Path) -> LibraryRecord:
    """What a library that can be loaded says about itself."""
    ffi = installed_tvm_ffi()
    with _in_one_sentence():
        subject = _subject(path, str(ffi.libraries))
        about = read_record(subject.library)
        if about is None:
            raise BadLibrary(_stranger(subject))
        _versions_fit(about, ffi)
        _needs_are_there(subject)
        return about


def read_library(path: str | Path) -> tuple[LibrarySubject, LibraryRecord | None]:
    """A library as its file tells it; None where it is none of tfport's. For any machine."""
    with _in_one_sentence():
        subject = _subject(path, "", machine=None)
        return subject, read_record(subject.library)


@contextmanager
def _in_one_sentence() -> Iterator[None]:
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


def _stranger(subject: LibrarySubject) -> str:
    """What a library is that says nothing about tfport."""
    library = subject.library
    of_tensorflow = any(map(is_tensorflow, library.needed)) or any(
        is_of_tensorflow(symbol.name) for symbol in library.symbols.undefined
    )
    if not of_tensorflow:
        return f"{subject.file}: registers nothing with tfport; {AGAIN}"
    ops = subject.registered.op_names or subject.registered.kernel_ops
    evidence = subject.origin.describe()
    named = ", ".join(ops[:MOST_NAMED]) + (
        f" and {len(ops) - MOST_NAMED} more" if len(ops) > MOST_NAMED else ""
    )
    built = f", built with {evidence[0]}" if evidence else ""
    return (
        f"{subject.file}: a library for TensorFlow{built}; it registers {named or 'no op in sight'}. "
        "tfport loads no library of TensorFlow's: `tfport lib new` begins one with the same ops on its own "
        f"ABI, and `tfport lib {subject.file}` says which releases load this one"
    )


def _versions_fit(about: LibraryRecord, ffi: TvmFfi) -> None:
    if about.abi != ABI:
        raise BadLibrary(
            f"{about.where}: built for ABI {about.abi} of tfport; this tfport has {ABI}: {AGAIN}"
        )
    if about.header[0] != HEADER[0] or about.header > HEADER:
        theirs, ours = (".".join(map(str, version)) for version in (about.header, HEADER))
        raise BadLibrary(f"{about.where}: built with tfport/op.h {theirs}; this tfport has {ours}: {AGAIN}")
    if about.ffi[0] != ffi.version[0] or about.ffi[1] > ffi.version[1]:
        theirs, ours = (".".join(map(str, version)) for version in (about.ffi, ffi.version))
        raise BadLibrary(f"{about.where}: built with tvm-ffi {theirs}; here is {ours}: {AGAIN}")


def _needs_are_there(subject: LibrarySubject) -> None:
    """That the loader would find all libraries, versions and symbols."""
    closure = subject.closure
    absent = [*(search.name for search, _ in closure.missing), *closure.of_tensorflow]
    if absent:
        raise BadLibrary(f"{subject.file}: needs {', '.join(absent)}, not found on this machine")
    lack = next(closure.missing_versions(), None)
    if lack is not None:
        older = f"{lack.version} of {lack.provider.name}"
        raise BadLibrary(f"{subject.file}: needs {older}, which is older on this machine")
    wanted = [
        short_name(symbol.name) for loaded in closure.own_libraries() for symbol in closure.undefined(loaded)
    ]
    if wanted:
        more = f" and {len(wanted) - MOST_NAMED} more" if len(wanted) > MOST_NAMED else ""
        named = ", ".join(wanted[:MOST_NAMED])
        raise BadLibrary(f"{subject.file}: needs {named}{more}, which nothing that it is linked to defines")
