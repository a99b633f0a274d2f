"""What would be loaded with a library, what would not be found, and what each offers.

The libraries of the target's TensorFlow are in the process already and count by their
names. Without a machine to look on, the usual libraries of a system are taken for there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tfport.check.lib.host_system import HostSystem
from tfport.check.lib.library_search import LibrarySearch, LoadedLibrary, search_library
from tfport.check.lib.tensorflow_libraries import is_tensorflow
from tfport.formats.elf.symbols import Undefined

USUAL = re.compile(
    r"lib(c|m|dl|rt|pthread|util|resolv|stdc\+\+|gcc_s|atomic|gomp|z)\.so\.\d+|ld-linux[\w-]*\.so\.\d"
)
MOST_LIBRARIES = 500


@dataclass(frozen=True, slots=True)
class MissingVersion:
    """A version that a library wants of another, which has it not."""

    version: str
    provider: LoadedLibrary
    requirer: LoadedLibrary


@dataclass
class DependencyClosure:
    """A library with all that it brings into the process."""

    root: LoadedLibrary
    system: HostSystem | None
    loaded: list[LoadedLibrary] = field(default_factory=list)
    """In the order in which the loader maps them."""
    missing: list[tuple[LibrarySearch, LoadedLibrary]] = field(default_factory=list)
    """What was looked for in vain, with the library that needs it."""
    of_tensorflow: dict[str, LoadedLibrary] = field(default_factory=dict)
    """The libraries of TensorFlow that are named, with the one that names each first."""
    assumed: list[str] = field(default_factory=list)
    """Libraries of a usual system that was not looked at."""

    @cached_property
    def unknown(self) -> list[str]:
        """What is needed and may be there, on a machine that is not known."""
        return [found.name for found, _ in self.missing] if self.system is None else []

    @cached_property
    def offered(self) -> frozenset[str]:
        """The symbols of all that is loaded."""
        return frozenset().union(*(loaded.library.symbols.defined for loaded in self.loaded))

    def version_lacks(self) -> Iterator[MissingVersion]:
        """Versions that are wanted and not offered, in the order in which the loader asks."""
        by_name = {name: one for one in self.loaded for name in (one.name, one.library.soname) if name}
        for requirer in self.loaded:
            for file, versions in requirer.library.versions_wanted.items():
                provider = by_name.get(file)
                if provider is None or not provider.library.versions_offered:
                    continue
                for version, is_weak in versions.items():
                    if not is_weak and version not in provider.library.versions_offered:
                        yield MissingVersion(version, provider, requirer)

    def unversioned(self) -> Iterator[MissingVersion]:
        """Symbols that are wanted in a version of a library that has them without: the loader gives up."""
        by_name = {one.library.soname or one.name: one for one in self.loaded if not one.library.has_versions}
        for requirer in self.loaded:
            for symbol in requirer.library.symbols.undefined:
                provider = by_name.get(symbol.library)
                if provider is not None and symbol.name in provider.library.symbols.defined:
                    yield MissingVersion(symbol.version, provider, requirer)

    def wanted(self, requirer: LoadedLibrary) -> list[Undefined]:
        """The strong symbols that a library needs and nothing that it brings defines, as the loader asks."""
        library = requirer.library
        strong = {u.name: u for u in library.symbols.undefined if not u.is_weak}
        ordered = [strong[name] for name in library.bound if name in strong]
        return [u for u in ordered if u.name not in self.offered and not self._is_assumed(u)]

    def _is_assumed(self, symbol: Undefined) -> bool:
        # what is linked to a library of a system carries a version of it
        return bool(symbol.version) and self.system is None

    def own(self) -> list[LoadedLibrary]:
        """The libraries that are not of the system, those that are relocated first at the front."""
        return [one for one in reversed(self.loaded) if not USUAL.fullmatch(one.name)]


def closure_of(
    root: LoadedLibrary, system: HostSystem | None, library_path: Sequence[str]
) -> DependencyClosure:
    """Follow what a library needs, breadth first as the loader does."""
    closure = DependencyClosure(root, system, [root])
    names = {root.library.soname, os.path.basename(root.path)}
    for one in closure.loaded:  # grows
        for name in one.library.needed:
            if name in names:
                continue
            names.add(name)
            found = search_library(name, one, system, library_path)
            if found.found is not None and not (is_tensorflow(name) and _is_usual_place(found)):
                closure.loaded.append(found.found)
                names.add(found.found.library.soname)
            elif is_tensorflow(name):
                closure.of_tensorflow[name] = one
            elif system is None and USUAL.fullmatch(name):
                closure.assumed.append(name)
            else:
                closure.missing.append((found, one))
        if len(closure.loaded) > MOST_LIBRARIES:
            break
    return closure


def _is_usual_place(found: LibrarySearch) -> bool:
    """Whether a library of TensorFlow lies where wheels have it: the one in the process is the same."""
    path = found.found.path if found.found else ""
    return os.path.basename(os.path.dirname(path)) in ("tensorflow", "tensorflow_core")
