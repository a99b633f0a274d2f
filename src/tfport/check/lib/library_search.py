"""Where does the dynamic loader look for a library that another one needs?

In this order: DT_RPATH of the one that needs it and of those that brought it, where it
has no DT_RUNPATH; LD_LIBRARY_PATH; its DT_RUNPATH; the loader's cache; the usual folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tfport.check.lib.file_checks import Rejection, check_file
from tfport.check.lib.host_system import HostSystem
from tfport.errors import UnreadableFile
from tfport.formats.elf.library import ARM, X86, Library
from tfport.formats.files import Folder

LIB_FOLDER = {X86: "lib64", ARM: "lib64"}
MOST_FOLDERS = 200


@dataclass
class LoadedLibrary:
    """A library that is loaded, or would be."""

    name: str
    """By which it was asked for."""
    path: str
    library: Library
    by: LoadedLibrary | None = None
    """The one that needs it; None for the one that was asked about."""

    @property
    def origin(self) -> str:
        return os.path.dirname(os.path.abspath(self.path))

    def chain(self) -> list[str]:
        """The names from the one that was asked about to this one."""
        before = self.by.chain() if self.by else []
        return [*before, os.path.basename(self.path) if self.by is None else self.name]


@dataclass
class LibrarySearch:
    """Where a library was looked for."""

    name: str
    found: LoadedLibrary | None = None
    looked: list[tuple[str, str]] = field(default_factory=list)
    """Each place with why it is looked in: (`/opt/lib`, `RUNPATH of my_op.so`)."""
    passed_over: list[str] = field(default_factory=list)
    """Files of that name that are for another machine."""
    broken: tuple[str, Rejection] | None = None
    """A file of that name that ends the search, and why it is not loaded."""

    @property
    def is_over(self) -> bool:
        return self.found is not None or self.broken is not None


def search_library(
    name: str, by: LoadedLibrary, system: HostSystem | None, library_path: Sequence[str]
) -> LibrarySearch:
    """Look for a library that one needs as the loader does."""
    result = LibrarySearch(name)
    if "/" in name:
        return _try(result, name, "its path is in the library that needs it", by, system)
    for folder, why, ours in _folders(by, system, library_path):
        if _try(result, f"{folder}/{name}", why, by, system, ours=ours, place=folder).is_over:
            return result
    if system is not None:
        for path in system.cache.get(name, []):
            if _try(result, path, "the loader's cache", by, system).is_over:
                return result
        if system.cache:
            result.looked.append((f"/etc/ld.so.cache of {system.name}", "the loader's cache"))
        for folder in system.folders:
            if _try(result, f"{folder}/{name}", "a usual folder", by, system, place=folder).is_over:
                return result
    return result


def _try(
    result: LibrarySearch,
    path: str,
    why: str,
    by: LoadedLibrary,
    system: HostSystem | None,
    *,
    ours: bool = False,
    place: str = "",
) -> LibrarySearch:
    """Open one candidate; `ours` says that the path is one of this file system, whatever the image."""
    if place:
        result.looked.append((place, why))
    file = Path(path) if ours or system is None else system.inside(path)
    if not file.is_file():
        return result
    try:
        data = Folder(file.parent).map(file.name)
        refusal = check_file(data, path, by.library.header.machine)
        if refusal is None:
            result.found = LoadedLibrary(result.name, path, Library(data, path), by)
        elif refusal.kind == "machine":
            result.passed_over.append(path)
        else:
            result.broken = path, refusal
    except UnreadableFile:
        result.passed_over.append(path)
    return result


def _folders(
    by: LoadedLibrary, system: HostSystem | None, library_path: Sequence[str]
) -> Iterator[tuple[str, str, bool]]:
    """Folders with why they are looked in, and whether they are of this file system."""
    if not by.library.runpath:
        holder: LoadedLibrary | None = by
        while holder is not None:
            if not holder.library.runpath:
                yield from _expanded(holder, holder.library.rpath, "RPATH", system)
            holder = holder.by
    for folder in library_path:
        yield folder or ".", "LD_LIBRARY_PATH", True
    yield from _expanded(by, by.library.runpath, "RUNPATH", system)


def _expanded(
    holder: LoadedLibrary, folders: Sequence[str], kind: str, system: HostSystem | None
) -> Iterator[tuple[str, str, bool]]:
    name = os.path.basename(holder.path)
    for folder in dict.fromkeys(folders[:MOST_FOLDERS]):
        relative = "$ORIGIN" in folder or "${ORIGIN}" in folder
        text = folder
        for variable, value in _variables(holder):
            text = text.replace(f"${{{variable}}}", value).replace(f"${variable}", value)
        place = os.path.normpath(text) if relative else text
        yield place, f"{kind} of {name}: {folder}", relative or system is None or system.is_this


def _variables(holder: LoadedLibrary) -> list[tuple[str, str]]:
    machine = holder.library.header.machine
    return [("ORIGIN", holder.origin), ("LIB", LIB_FOLDER.get(machine, "lib")), ("PLATFORM", machine)]
