"""Stand-ins for the CUDA libraries that a GPU build links against.

`cuda_stubs` writes libraries with the names, symbol versions and functions that
are needed, each function answering 1, an error: enough to be loaded, and to find
that no device is there.
"""

import os
import re
import subprocess
from pathlib import Path

from elf import Library

CUDA = re.compile(r"lib(cu|nccl|nv)\w*\.so")
CUDA_SYMBOL = re.compile(r"_*(cu|nccl|nv|CU|createInfer)\w+")


def cuda_stubs(libraries: list[Library], folder: Path) -> None:
    """Write a stub for each CUDA library that one of these needs."""
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
    if versions:  # every symbol in one of them: a loader asks for the version only by name
        script = folder / f"{name}.map"
        nodes = [f"{v} {{ {'*;' if v == versions[0] else ''} }};\n" for v in versions]
        script.write_text("".join(nodes))
        options.append(f"-Wl,--version-script={script}")
    subprocess.run([*compiler, *options], input=source.encode(), check=True)
