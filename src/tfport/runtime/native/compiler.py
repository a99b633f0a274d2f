"""Compile sources to a shared library with the system's compiler; BuildFailed says why that fails."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tfport.errors import BuildFailed
from tfport.runtime.native.tvm_ffi import installed_tvm_ffi

COMPILERS = ("g++", "clang++", "c++")
ENDINGS = (".cc", ".cpp", ".cxx")
COMMON = ("-shared", "-fPIC")
INCLUDE = Path(__file__).parent / "include"
ERROR = re.compile(r"^(\S.*?:\d+(?::\d+)?): ((?:fatal )?error: .*)$", re.MULTILINE)
EXPANDED = re.compile(r"^(\S.*?:\d+(?::\d+)?): note: in expansion of macro", re.MULTILINE)
LINKING = re.compile(r"^.*?((?:undefined reference to|multiple definition of|cannot find) .*)$", re.MULTILINE)


def flags_for_tfport(*, checked: bool = False) -> list[str]:
    """The flags that compile and link a library for tfport; `checked`: with bounds checks."""
    ffi = installed_tvm_ffi()
    includes = [f"-I{folder}" for folder in (INCLUDE, *ffi.includes)]
    bounds = ["-DTFPORT_CHECKED"] if checked else []
    linked = [f"-L{ffi.libraries}", "-ltvm_ffi", "-Wl,-z,defs"]
    return ["-std=c++17", *COMMON, "-O3", "-fvisibility=hidden", *bounds, *includes, *linked]


def sources_in(folder: Path) -> list[str]:
    """The C++ files of a folder."""
    return sorted(os.path.relpath(path) for path in folder.iterdir() if path.suffix in ENDINGS)


def compile_library(sources: Sequence[str], output: str, flags: Sequence[str]) -> list[str]:
    """Build a library; the command line that was used. A failed build leaves no files."""
    if missing := next((source for source in sources if not os.path.isfile(source)), None):
        raise BuildFailed(f"{missing}: no such file")
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        raise BuildFailed(f"{output}: the folder {folder} does not exist")
    compiler = _compiler()
    with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as scratch:
        built = os.path.join(scratch, os.path.basename(output))
        command = [*compiler, *sources, "-o", built, *flags]  # libraries come after what needs them
        done = _run(command)
        if done.returncode != 0:
            raise BuildFailed(_why(done, compiler[0]))
        os.replace(built, output)
    return [*compiler, *sources, "-o", output, *flags]


def _compiler() -> list[str]:
    requested = shlex.split(os.environ.get("CXX", ""))
    if requested:
        if shutil.which(requested[0]) is None:
            raise BuildFailed(f"CXX names the compiler {requested[0]}, which does not exist")
        return requested
    compiler = next((name for name in COMPILERS if shutil.which(name)), None)
    if compiler is None:
        raise BuildFailed(f"no C++ compiler found: none of {', '.join(COMPILERS)}, and CXX is not set")
    return [compiler]


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    plain = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", env=plain
        )
    except OSError as error:
        raise BuildFailed(f"{command[0]} cannot be run: {error.strerror}") from None


def _why(done: subprocess.CompletedProcess[str], compiler: str) -> str:
    """The first error of the compiler, otherwise its last line."""
    errors = list(ERROR.finditer(done.stderr))
    if errors:
        more = len(errors) - 1
        return f"{_place(errors, done.stderr)}: {errors[0][2]}" + (f" (and {more} more)" if more else "")
    if linking := LINKING.search(done.stderr):
        return f"linker error: {linking[1].strip()}"
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return f"{compiler} failed with exit code {done.returncode}" + (f": {lines[-1].strip()}" if lines else "")


def _place(errors: Sequence[re.Match[str]], printed: str) -> str:
    """Where the first error is; if it is in a macro of tfport's headers, where the source has the macro."""
    place: str = errors[0][1]
    end = errors[1].start() if len(errors) > 1 else len(printed)
    places = [place, *EXPANDED.findall(printed, errors[0].end(), end)]
    return next((place for place in places if not place.startswith(str(INCLUDE))), place)
