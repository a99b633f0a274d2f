"""Stubs for the CUDA libraries that a GPU build links to.

`cuda_stubs` writes libraries with the required names, symbol versions and functions. Each
function returns 1, an error: enough for the build to load and to find no device.
"""

import os
import re
import subprocess
from pathlib import Path

from elf import Library

CUDA = re.compile(r"lib(cu|nccl|nv)\w*\.so")
CUDA_SYMBOL = re.compile(r"_*(cu|nccl|nv|CU|createInfer)\w+")


def cuda_stubs(libraries: list[Library], folder: Path) -> None:
    """Write a stub for each CUDA library that one of these libraries needs."""
    missing = {name for library in libraries for name in library.needed if CUDA.match(name)}
    if not missing:
        return
    symbols = {s for library in libraries for s in library.undefined if CUDA_SYMBOL.fullmatch(s)}
    source = "\n".join(f"long {symbol}(void) {{ return 1; }}" for symbol in sorted(symbols))
    for name in sorted(missing):
        versions = sorted({v for library in libraries for v in library.versions.get(name, ())})
        write_stub(name, source, versions, folder)


def write_stub(name: str, source: str, versions: list[str], folder: Path) -> None:
    compiler = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-fno-builtin", "-w", "-x", "c", "-"]
    options = ["-o", folder / name, f"-Wl,-soname,{name}"]
    if versions:  # all symbols in the first version: a loader checks only the names of versions
        script = folder / f"{name}.map"
        nodes = [f"{v} {{ {'*;' if v == versions[0] else ''} }};\n" for v in versions]
        script.write_text("".join(nodes))
        options.append(f"-Wl,--version-script={script}")
    subprocess.run([*compiler, *options], input=source.encode(), check=True)
