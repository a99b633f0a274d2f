"""Import modules of tfport from their compiled files without the steps that find a module of any kind.

Python looks for a package, an extension and a source file of a name before it reads a compiled file. A
command imports hundreds of modules: these steps are a sixth of the time to import them. Here the compiled
file is read first, and used if it is as new as its source, as Python requires too. Python does all else.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from types import CodeType, ModuleType

_HEADER = 16
"""The length of what precedes the code: version, kind, and the time and size of the source."""


def use_compiled_modules() -> None:
    """Let this process import modules of tfport in this way."""
    if not sys.flags.optimize and sys.pycache_prefix is None and CompiledModules not in sys.meta_path:
        sys.meta_path.insert(0, CompiledModules)


class CompiledModules:
    """Finds modules of tfport whose compiled files are up to date."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, _: ModuleType | None = None) -> ModuleSpec | None:
        if path is None or not name.startswith("tfport."):
            return None
        base, last = path[0], name.rpartition(".")[2]
        source = f"{base}/{last}.py"
        compiled = f"{base}/__pycache__/{last}.{sys.implementation.cache_tag}.pyc"
        try:
            with open(compiled, "rb", 0) as file:
                data = file.read()
            status = os.stat(source)
        except OSError:  # a package, or not compiled yet
            return None
        if data[:_HEADER] != _header(status):
            return None
        spec = ModuleSpec(name, CompiledLoader(name, source, data), origin=source)
        spec.has_location, spec.cached = True, compiled
        return spec


class CompiledLoader(SourceFileLoader):
    """Loads a module from the data of its compiled file."""

    def __init__(self, name: str, path: str, data: bytes) -> None:
        super().__init__(name, path)
        self._data: bytes | None = data

    def get_code(self, fullname: str) -> CodeType | None:
        data, self._data = self._data, None
        if data is None:  # asked again, as by `inspect`
            return super().get_code(fullname)
        code: CodeType = marshal.loads(memoryview(data)[_HEADER:])
        return code


def _header(source: os.stat_result) -> bytes:
    """What a compiled file of a source begins with."""
    numbers = (0, int(source.st_mtime), source.st_size)
    return MAGIC_NUMBER + b"".join((number & 0xFFFFFFFF).to_bytes(4, "little") for number in numbers)
