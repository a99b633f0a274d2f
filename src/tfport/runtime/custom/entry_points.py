"""Load custom ops of installed packages into the process-wide registry: entry points `tfport.ops`.

    [project.entry-points."tfport.ops"]
    acme = "acme_ops"               # a module that calls `tfport.op` and `tfport.kernel`,
    acme = "acme_ops:register"      # or a function that takes the registry

They are loaded once, when a session, a check or a listing first needs the process-wide registry. If
one fails, a warning names its distribution, what it had registered is removed, and the others are
loaded.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Protocol

from tfport.runtime.custom.source_location import declared_by_package

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "tfport.ops"
FILE = "entry_points.txt"


class BrokenOps(UserWarning):
    """The ops of an installed package cannot be loaded; the others can."""


class EntryPointRegistry(Protocol):
    """The registry that packages register their ops in."""

    def forget(self, package: str) -> None:
        """Remove what a package registered."""
        ...


class _Progress:
    """The progress of loading; a package may make a session while it is being loaded."""

    lock = threading.RLock()  # not the registry's: an import in another thread may wait for that lock
    begun = done = False


def load_entry_points(registry: EntryPointRegistry) -> None:
    """Load all entry points, once per process; other threads wait until it is done."""
    if _Progress.done:
        return
    with _Progress.lock:
        if _Progress.begun:
            return
        _Progress.begun = True
        messages = [sentence for point in _entry_points() if (sentence := _load(point, registry))]
        _Progress.done = True
    for sentence in messages:
        warnings.warn(sentence, BrokenOps, stacklevel=2)


def _entry_points() -> list[EntryPoint]:
    if not any(map(_may_declare, sys.path)) and not _has_other_finders():
        return []
    from importlib.metadata import entry_points  # here: importing it takes longer than looking into the files

    return sorted(entry_points(group=GROUP), key=lambda point: (_package(point), point.name))


def _has_other_finders() -> bool:
    """Whether packages are also found in another way than in the folders of `sys.path`."""
    return any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder)


def _may_declare(entry: str) -> bool:
    """Whether a package in an entry of `sys.path` may declare an entry point: in an archive, always."""
    return os.path.isfile(entry) or any(GROUP.encode() in text for text in _declarations(entry or "."))


def _declarations(folder: str) -> Iterator[bytes]:
    """The entry points of each package that is installed in a folder, as its file has them."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.lower().endswith((".dist-info", "egg-info")):
            with contextlib.suppress(OSError), open(os.path.join(folder, name, FILE), "rb") as file:
                yield file.read()


def _load(point: EntryPoint, registry: EntryPointRegistry) -> str | None:
    """Load an entry point; the error message if that fails."""
    package = _package(point)
    try:
        with declared_by_package(package):
            loaded = point.load()
            if callable(loaded):
                loaded(registry)
            elif not isinstance(loaded, types.ModuleType):
                raise TypeError(f"expected a module or a function of a registry, got {type(loaded).__name__}")
    except Exception as error:
        registry.forget(package)
        return f"the ops of {package} ({point.name} = {point.value}) cannot be loaded: {_reason(error)}"
    return None


def _package(point: EntryPoint) -> str:
    dist = point.dist
    return f"{dist.name} {dist.version}" if dist is not None else point.name


def _reason(error: Exception) -> str:
    message = " ".join(str(error).split()) or "no message"
    return f"{type(error).__name__}: {message}".replace(os.getcwd() + os.sep, "")
