"""Search a needed library as the dynamic loader does.

The order: DT_RPATH of the library that needs it and of those that loaded it, unless it has
DT_RUNPATH; LD_LIBRARY_PATH; its DT_RUNPATH; the loader's cache; the default folders.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tfport.errors import UnreadableFile
from tfport.formats.elf.library import ARM, X86, ElfLibrary
from tfport.formats.files import Folder
from tfport.lib.file_checks import Rejection, check_file
from tfport.lib.host_system import HostSystem
from tfport.startup.dataclass import dataclass, field

LIB_FOLDER = {X86: "lib64", ARM: "lib64"}
MOST_FOLDERS = 200


@dataclass
class LoadedLibrary:
    """A library that would be loaded."""

    name: str
    """The name by which it is needed."""
    path: str
    library: ElfLibrary
    by: LoadedLibrary | None = None
    """The library that needs it; None for the library under diagnosis."""

    @property
    def origin(self) -> str:
        return os.path.dirname(os.path.abspath(self.path))

    def chain(self) -> list[str]:
        """The names from the library under diagnosis to this one."""
        before = self.by.chain() if self.by else []
        return [*before, os.path.basename(self.path) if self.by is None else self.name]


@dataclass
class LibrarySearch:
    """The search for a needed library, and its result."""

    name: str
    result: LoadedLibrary | None = None
    searched: list[tuple[str, str]] = field(default_factory=list)
    """Each searched folder with the reason: (`/opt/lib`, `RUNPATH of my_op.so`)."""
    skipped: list[str] = field(default_factory=list)
    """Files of that name for another machine."""
    broken: tuple[str, Rejection] | None = None
    """A file of that name that ends the search, and why it cannot be loaded."""

    @property
    def is_over(self) -> bool:
        return self.result is not None or self.broken is not None


def search_library(
    name: str, by: LoadedLibrary, system: HostSystem | None, library_path: Sequence[str]
) -> LibrarySearch:
    """Search a library that another one needs, as the loader does."""
    search = LibrarySearch(name)
    if "/" in name:
        return _try(search, name, "the library that needs it names its path", by, system)
    for folder, why, ours in _folders(by, system, library_path):
        if _try(search, f"{folder}/{name}", why, by, system, ours=ours, place=folder).is_over:
            return search
    if system is not None:
        for path in system.cache.get(name, []):
            if _try(search, path, "the loader's cache", by, system).is_over:
                return search
        if system.cache:
            search.searched.append((f"/etc/ld.so.cache of {system.name}", "the loader's cache"))
        for folder in system.folders:
            if _try(search, f"{folder}/{name}", "a default folder", by, system, place=folder).is_over:
                return search
    return search


def _try(
    search: LibrarySearch,
    path: str,
    why: str,
    by: LoadedLibrary,
    system: HostSystem | None,
    *,
    ours: bool = False,
    place: str = "",
) -> LibrarySearch:
    """Open one candidate; `ours` means that the path is on this file system, not in the image."""
    if place:
        search.searched.append((place, why))
    file = Path(path) if ours or system is None else system.inside(path)
    if not file.is_file():
        return search
    try:
        data = Folder(file.parent).map(file.name)
        rejection = check_file(data, path, by.library.header.machine)
        if rejection is None:
            search.result = LoadedLibrary(search.name, path, ElfLibrary(data, path), by)
        elif rejection.kind == "machine":
            search.skipped.append(path)
        else:
            search.broken = path, rejection
    except UnreadableFile:
        search.skipped.append(path)
    return search


def _folders(
    by: LoadedLibrary, system: HostSystem | None, library_path: Sequence[str]
) -> Iterator[tuple[str, str, bool]]:
    """The folders to search, each with the reason and whether it is on this file system."""
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
