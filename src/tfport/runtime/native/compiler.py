"""From sources to a shared library, with the compiler of this machine: one sentence where that fails."""

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
ERROR = re.compile(r"^(\S.*?:\d+(?::\d+)?: (?:fatal )?error: .*)$", re.MULTILINE)
LINKING = re.compile(r"^.*?((?:undefined reference to|multiple definition of|cannot find) .*)$", re.MULTILINE)


def flags_for_tfport(*, checked: bool = False) -> list[str]:
    """How a library of tfport's is compiled and linked; `checked`: elements are only reached in bounds."""
    ffi = installed_tvm_ffi()
    includes = [f"-I{folder}" for folder in (INCLUDE, *ffi.includes)]
    bounds = ["-DTFPORT_CHECKED"] if checked else []
    linked = [f"-L{ffi.libraries}", "-ltvm_ffi", "-Wl,-z,defs"]
    return ["-std=c++17", *COMMON, "-O3", "-fvisibility=hidden", *bounds, *includes, *linked]


def sources_in(folder: Path) -> list[str]:
    """The C++ files of a folder."""
    return sorted(os.path.relpath(path) for path in folder.iterdir() if path.suffix in ENDINGS)


def compile_library(sources: Sequence[str], output: str, flags: Sequence[str]) -> list[str]:
    """Build a library; the command that did it. Nothing is left behind where it fails."""
    if missing := next((source for source in sources if not os.path.isfile(source)), None):
        raise BuildFailed(f"{missing}: there is no such file")
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        raise BuildFailed(f"{output}: there is no folder {folder}")
    compiler = _compiler()
    with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as scratch:
        made = os.path.join(scratch, os.path.basename(output))
        command = [*compiler, *sources, "-o", made, *flags]  # libraries count behind what needs them
        done = _run(command)
        if done.returncode != 0:
            raise BuildFailed(_why(done, compiler[0]))
        os.replace(made, output)
    return [*compiler, *sources, "-o", output, *flags]


def _compiler() -> list[str]:
    asked = shlex.split(os.environ.get("CXX", ""))
    if asked:
        if shutil.which(asked[0]) is None:
            raise BuildFailed(f"there is no compiler {asked[0]}, which CXX names")
        return asked
    compiler = next((name for name in COMPILERS if shutil.which(name)), None)
    if compiler is None:
        raise BuildFailed(
            f"there is no C++ compiler here: none of {', '.join(COMPILERS)}, and CXX is not set"
        )
    return [compiler]


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    plain = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", env=plain
        )
    except OSError as error:
        raise BuildFailed(f"{command[0]} does not run: {error.strerror}") from None


def _why(done: subprocess.CompletedProcess[str], compiler: str) -> str:
    """The first error that the compiler names, else what it says last."""
    errors: list[str] = ERROR.findall(done.stderr)
    if errors:
        more = len(errors) - 1
        return errors[0] + (f" (and {more} more)" if more else "")
    if linking := LINKING.search(done.stderr):
        return f"the linker says: {linking[1].strip()}"
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return f"{compiler} ends with code {done.returncode}" + (f": {lines[-1].strip()}" if lines else "")
