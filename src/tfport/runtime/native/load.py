"""`tfport.load_op_library(path)`: load custom ops and kernels in C++ into a registry.

The file is checked first, then loaded in a separate process, and only then in this one. Libraries
are never unloaded. Either everything that a library registers is registered, or nothing.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfport.errors import BadLibrary, BadRegistration, RunFailed
from tfport.runtime.custom.parse_definition import parse_op_definition
from tfport.runtime.custom.registry import PROCESS_WIDE, Registry
from tfport.runtime.native.library_record import KernelRecord, LibraryRecord
from tfport.runtime.native.load_checks import check_library, read_library
from tfport.runtime.native.tvm_ffi import installed_tvm_ffi

if TYPE_CHECKING:
    from tfport.formats.proto.graph_pb2 import OpDef
    from tfport.runtime.native.native_kernel import NativeKernel


def load_op_library(path: str | Path, registry: Registry | None = None) -> list[str]:
    """Load a library and register its ops and kernels; the names of its ops. Loading twice is harmless.

    `registry` defaults to the process-wide one. BadLibrary says why a file cannot be loaded,
    BadRegistration what is wrong with its registrations.
    """
    record = check_library(path)
    provider = os.path.basename(path)
    definitions = _definitions(record, provider)
    into = PROCESS_WIDE if registry is None else registry
    # on a copy first: what is wrong with the registrations is raised before anything is loaded
    _register(record, definitions, provider, _copy(into), {})
    try_to_load(path, installed_tvm_ffi().library)
    kernels = _loaded(_loader_path(os.path.abspath(path)), record)
    _register(record, definitions, provider, into, kernels)
    return sorted({*(definition.name for definition in definitions), *(line.op for line in record.kernels)})


def registry_with_unloaded(
    paths: Iterable[str], registry: Registry | None = None
) -> tuple[Registry, list[str]]:
    """A registry with the ops of libraries for tfport, without loading them; and the other libraries."""
    into = Registry(registry)
    others = []
    for path in paths:
        if read_library(path)[1] is None:
            others.append(path)
            continue
        record, provider = check_library(path), os.path.basename(path)
        _register(record, _definitions(record, provider), provider, into, {})
    return into, others


def _copy(registry: Registry) -> Registry:
    """A copy, for a trial registration."""
    copy = Registry(registry.base)
    copy.definitions, copy.providers = dict(registry.definitions), dict(registry.providers)
    copy.kernels = {op: list(declared) for op, declared in registry.kernels.items()}
    copy.lowerings, copy.shapes = dict(registry.lowerings), dict(registry.shapes)
    return copy


def _definitions(record: LibraryRecord, provider: str) -> list[OpDef]:
    try:
        return [parse_op_definition(line.spec) for line in record.ops]
    except BadRegistration as error:
        raise BadRegistration(f"{provider}: {error}") from None


def _register(
    record: LibraryRecord,
    definitions: list[OpDef],
    provider: str,
    registry: Registry,
    kernels: dict[int, NativeKernel],
) -> None:
    for definition in definitions:
        registry.define(definition, provider)
    for line in record.kernels:
        registry.add_kernel(
            line.op,
            kernels.get(line.index) or _not_loaded,
            label=line.label,
            priority=line.priority,
            constraints=_constraints(line),
            provider=provider,
        )


def _constraints(line: KernelRecord) -> dict[str, list[str]]:
    return {name: list(values) for name, values in line.constraints.items()}


def _not_loaded(*inputs: Any, **attrs: Any) -> Any:
    raise RunFailed("the library of this kernel has not been loaded")


_VERSIONS: dict[str, list[tuple[int, int, int]]] = {}
"""The versions of the file that were loaded from a path, in order."""


def _loader_path(path: str) -> str:
    """A spelling of the path that is new to the loader if the file was replaced: it compares names."""
    stat = os.stat(path)
    file, changed = (stat.st_dev, stat.st_ino), stat.st_mtime_ns
    versions = _VERSIONS.setdefault(path, [])
    if (*file, changed) not in versions:
        if any(version[:2] == file for version in versions):
            raise BadLibrary(f"{path}: overwritten since it was loaded; remove the file before rebuilding it")
        versions.append((*file, changed))
    folder, name = os.path.split(path)
    return os.path.join(folder, *["."] * versions.index((*file, changed)), name)


@functools.cache
def _loaded(path: str, record: LibraryRecord) -> dict[int, NativeKernel]:
    """The kernels of a library by index; each file is loaded once."""
    import tvm_ffi

    from tfport.runtime.native.native_kernel import NativeKernel

    ctypes.CDLL(path, os.RTLD_NOW | os.RTLD_NODELETE)  # its arrays may outlive everything else
    try:
        module = tvm_ffi.load_module(path)
        texts = str(module.get_function("tfport_registrations")()).splitlines()
        call, forget = module.get_function("tfport_call"), module.get_function("tfport_forget")
    except (AttributeError, RuntimeError, ValueError) as error:
        raise BadLibrary(
            f"{path}: {str(error).splitlines()[0] if str(error) else 'cannot be loaded'}"
        ) from None
    if texts != list(record.texts):
        raise BadLibrary(f"{path}: the file changed while it was being loaded")
    call.release_gil = True
    return {line.index: NativeKernel(call, forget, line.index) for line in record.kernels}


# Try to load a library in a separate process, before loading it into this one.
#
# The functions that run when a library is loaded may throw, abort, exit or hang, and the file does
# not show that. Each file is tried once.

TIMEOUT_SECONDS = 60.0
SURVIVED = b"survived"
TRY = """
import ctypes, os, sys
ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
try:
    ctypes.CDLL(sys.argv[2], os.RTLD_NOW)
except OSError as error:
    print(error, file=sys.stderr)
    os._exit(3)
os.write(1, b"survived")
os._exit(0)
"""
_SURVIVORS: set[tuple[int, ...]] = set()


def try_to_load(path: str | Path, tvm_ffi: Path) -> None:
    """Raise BadLibrary if loading a library fails, or ends the process."""
    stat = os.stat(path)
    key = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if key in _SURVIVORS or not sys.executable:
        return
    command = [sys.executable, "-I", "-S", "-c", TRY, str(tvm_ffi), os.path.abspath(path)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        raise BadLibrary(f"{path}: loading it did not finish within {TIMEOUT_SECONDS:.0f} seconds") from None
    if done.returncode != 0 or done.stdout != SURVIVED:
        raise BadLibrary(f"{path}: {_why(done.returncode, done.stderr.decode(errors='replace'))}")
    _SURVIVORS.add(key)


def _why(code: int, stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = f": {lines[-1].removeprefix('what():').strip()}" if lines else ""
    if code == 3 and lines:
        return f"the system's loader rejects it{last}"
    if code < 0:
        return f"loading it ends the process ({signal.Signals(-code).name}){last}"
    return f"loading it ends the process (exit code {code}){last}"
