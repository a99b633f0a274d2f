"""`tfport.load_op_library(path)`: ops and kernels in C++ become those of a registry.

The file is looked into first, then loaded in a process of its own, and only then here. It
stays: nothing is ever unloaded. All that it registers is registered, or nothing.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfport.errors import BadLibrary, BadRegistration, RunFailed
from tfport.runtime.custom.parse_definition import parse_op_definition
from tfport.runtime.custom.registry import PROCESS_WIDE, Registry
from tfport.runtime.native.library_record import KernelRecord, LibraryRecord
from tfport.runtime.native.load_checks import check_library, read_library
from tfport.runtime.native.trial_load import try_to_load
from tfport.runtime.native.tvm_ffi import installed_tvm_ffi

if TYPE_CHECKING:
    from tfport.formats.proto.graph_pb2 import OpDef
    from tfport.runtime.native.native_kernel import NativeKernel


def load_op_library(path: str | Path, registry: Registry | None = None) -> list[str]:
    """Load a library and register its ops and kernels; the names of its ops. Twice is as good as once.

    `registry` is the process-wide one unless another is given. BadLibrary says why a file is not
    loaded, BadRegistration what is wrong with what it registers.
    """
    about = check_library(path)
    provider = os.path.basename(path)
    definitions = _definitions(about, provider)
    into = PROCESS_WIDE if registry is None else registry
    _register(about, definitions, provider, _like(into), {})  # a rehearsal: what is wrong is raised here
    try_to_load(path, installed_tvm_ffi().library)
    kernels = _loaded(_spelled(os.path.abspath(path)), about)
    _register(about, definitions, provider, into, kernels)
    return sorted({*(record.name for record in definitions), *(record.op for record in about.kernels)})


def registry_with_unloaded(
    paths: Iterable[str], registry: Registry | None = None
) -> tuple[Registry, list[str]]:
    """A registry that also knows what libraries of tfport register, which are not loaded; and the others."""
    into = Registry(registry)
    others = []
    for path in paths:
        if read_library(path)[1] is None:
            others.append(path)
            continue
        about, provider = check_library(path), os.path.basename(path)
        _register(about, _definitions(about, provider), provider, into, {})
    return into, others


def _like(registry: Registry) -> Registry:
    """A copy, to try on."""
    copy = Registry(registry.base)
    copy.definitions, copy.providers = dict(registry.definitions), dict(registry.providers)
    copy.kernels = {op: list(declared) for op, declared in registry.kernels.items()}
    copy.lowerings, copy.shapes = dict(registry.lowerings), dict(registry.shapes)
    return copy


def _definitions(about: LibraryRecord, provider: str) -> list[OpDef]:
    try:
        return [parse_op_definition(line.spec) for line in about.ops]
    except BadRegistration as error:
        raise BadRegistration(f"{provider}: {error}") from None


def _register(
    about: LibraryRecord,
    definitions: list[OpDef],
    provider: str,
    registry: Registry,
    kernels: dict[int, NativeKernel],
) -> None:
    for definition in definitions:
        registry.define(definition, provider)
    for line in about.kernels:
        registry.add_kernel(
            line.op,
            kernels.get(line.place) or _not_loaded,
            label=line.label,
            priority=line.priority,
            constraints=_constraints(line),
            provider=provider,
        )


def _constraints(line: KernelRecord) -> dict[str, list[str]]:
    return {name: list(values) for name, values in line.constraints.items()}


def _not_loaded(*inputs: Any, **attrs: Any) -> Any:
    raise RunFailed("the library of this kernel was read, not loaded")


_VERSIONS: dict[str, list[tuple[int, int, int]]] = {}
"""The files that were loaded by a path, one after the other."""


def _spelled(path: str) -> str:
    """A path as the loader has not seen it yet, if another file is there now: it goes by names."""
    stat = os.stat(path)
    file, changed = (stat.st_dev, stat.st_ino), stat.st_mtime_ns
    versions = _VERSIONS.setdefault(path, [])
    if (*file, changed) not in versions:
        if any(version[:2] == file for version in versions):
            raise BadLibrary(f"{path}: written over since it was loaded; remove it before it is built again")
        versions.append((*file, changed))
    folder, name = os.path.split(path)
    return os.path.join(folder, *["."] * versions.index((*file, changed)), name)


@functools.cache
def _loaded(path: str, about: LibraryRecord) -> dict[int, NativeKernel]:
    """The kernels of a library by their places; each file is loaded once."""
    import tvm_ffi

    from tfport.runtime.native.native_kernel import NativeKernel

    ctypes.CDLL(path, os.RTLD_NOW | os.RTLD_NODELETE)  # arrays that it made may outlive everything else
    try:
        module = tvm_ffi.load_module(path)
        texts = str(module.get_function("tfport_registrations")()).splitlines()
        call, forget = module.get_function("tfport_call"), module.get_function("tfport_forget")
    except (AttributeError, RuntimeError, ValueError) as error:
        raise BadLibrary(f"{path}: {str(error).splitlines()[0] if str(error) else 'not loaded'}") from None
    if texts != list(about.texts):
        raise BadLibrary(f"{path}: what it registers is not what its file says; it changed meanwhile")
    call.release_gil = True
    return {line.place: NativeKernel(call, forget, line.place) for line in about.kernels}
