"""C++ op libraries for the tests: built once per process; skipped without a compiler."""

from __future__ import annotations

import functools
import importlib.util
import shutil
import tempfile
from pathlib import Path

import pytest

from tfport.runtime.native.compiler import COMPILERS, compile_library, flags_for_tfport

SOURCES = Path(__file__).parent / "native_ops"

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, COMPILERS)) or importlib.util.find_spec("tvm_ffi") is None,
    reason="no C++ compiler, or no apache-tvm-ffi",
)


@functools.cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """Return the folder for built libraries; it is deleted with the process."""
    return tempfile.TemporaryDirectory(prefix="tfport-native-")


@functools.cache
def library(source: str, *flags: str) -> str:
    """Build a file of `native_ops`; return the path of the library."""
    name = f"lib{source}{''.join(flags).replace('-D', '_').replace('=', '_')}.so"
    path = str(Path(folder().name) / name)
    undefined = ["-Wl,-z,undefs"] if flags else []
    compile_library([str(SOURCES / f"{source}.cc")], path, [*flags_for_tfport(), "-O0", *undefined, *flags])
    return path


def broken(how: str) -> str:
    """Build a library that is broken in one way."""
    return library("broken", f"-DHOW={how}")
