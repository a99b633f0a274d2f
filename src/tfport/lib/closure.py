"""The libraries that would be loaded with a library, and those that would not be found.

The libraries of the target's TensorFlow are in the process already and are matched by name; the
system libraries that they need are in the scope of every library that sees them. If the target
machine is unknown, the usual system libraries are assumed to exist, with the symbols that are recorded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from tfport.formats.elf.library import ElfLibrary
from tfport.formats.elf.symbols import Undefined
from tfport.lib.host_system import PROGRAM, SYSTEM_LIBRARIES, HostSystem, is_exported
from tfport.lib.library_search import LibrarySearch, LoadedLibrary, search_library
from tfport.lib.tensorflow_libraries import is_tensorflow
from tfport.startup.dataclass import dataclass, field

MOST_LIBRARIES = 500


@dataclass(frozen=True, slots=True)
class MissingVersion:
    """A symbol version that a library requires from another one, which does not define it."""

    version: str
    provider: str
    """The path of the library that should define it."""
    offers: frozenset[str]
    """The versions that it defines."""
    requirer: LoadedLibrary


@dataclass
class DependencyClosure:
    """A library and everything that is loaded with it."""

    root: LoadedLibrary
    system: HostSystem | None
    loaded: list[LoadedLibrary] = field(default_factory=list)
    """In the order in which the loader maps them."""
    missing: list[tuple[LibrarySearch, LoadedLibrary]] = field(default_factory=list)
    """Searches that found nothing, each with the library that needs it."""
    of_tensorflow: dict[str, LoadedLibrary] = field(default_factory=dict)
    """The needed TensorFlow libraries, each with the first library that needs it."""
    assumed: list[str] = field(default_factory=list)
    """System libraries that are assumed to exist."""
    _undefined: dict[str, list[Undefined]] = field(default_factory=dict)
    """The symbols of each library, by path, that the libraries loaded with it do not define."""
    _libraries_of_process: dict[tuple[str, ...], list[ElfLibrary]] = field(default_factory=dict)

    @cached_property
    def unknown(self) -> list[str]:
        """Needed libraries that may or may not exist, if the machine is unknown."""
        return [search.name for search, _ in self.missing] if self.system is None else []

    def missing_versions(self, of_tensorflow: Mapping[str, str]) -> Iterator[MissingVersion]:
        """Required versions that are not defined, in the order in which the loader checks them.

        `of_tensorflow` has the version that each library of the target's TensorFlow defines. A
        library that defines no version satisfies all (`match_symbol` in glibc's dl-version.c).
        """
        offers = {name: (name, frozenset([version])) for name, version in of_tensorflow.items() if version}
        for name, loaded in self._by_name.items():
            offers[name] = loaded.path, frozenset(loaded.library.defined_versions)
        for requirer in self.loaded:
            for file, versions in requirer.library.required_versions.items():
                provider, defined = offers.get(file, ("", frozenset()))
                for version, is_weak in versions.items() if defined else ():
                    if not is_weak and version not in defined:
                        yield MissingVersion(version, provider, defined, requirer)

    def unversioned(self) -> Iterator[MissingVersion]:
        """Symbols that are required in a version from a library that defines them without versions.

        The loader aborts on these.
        """
        by_name = {
            loaded.library.soname or loaded.name: loaded
            for loaded in self.loaded
            if not loaded.library.has_versions
        }
        for requirer in self.loaded:
            for symbol in requirer.library.symbols.undefined:
                provider = by_name.get(symbol.library)
                if provider is not None and symbol.name in provider.library.symbols.defined:
                    yield MissingVersion(symbol.version, provider.path, frozenset(), requirer)

    def undefined(self, requirer: LoadedLibrary, process: tuple[str, ...] = PROGRAM) -> list[Undefined]:
        """The strong symbols of a library that nothing in its scope defines, in the loader's order.

        `process` has the system libraries that the process offers beside those that the library needs.
        """
        if requirer.path not in self._undefined:
            self._undefined[requirer.path] = self._not_offered(requirer.library)
        return [u for u in self._undefined[requirer.path] if self.is_in_process(u, process) is not True]

    def _not_offered(self, library: ElfLibrary) -> list[Undefined]:
        strong = {u.name: u for u in library.symbols.undefined if not u.is_weak}
        ordered = [strong[name] for name in library.bound if name in strong]
        return [
            u for u in ordered if not (self._is_assumed(u) or self._is_offered(u) or self._lacks_version(u))
        ]

    def _is_offered(self, symbol: Undefined) -> bool:
        return any(loaded.library.symbols.defines(symbol) for loaded in self.loaded)

    def is_in_process(self, symbol: Undefined, process: tuple[str, ...]) -> bool | None:
        """Whether the process, or an assumed library, defines a symbol; None if the machine decides."""
        if self.system is None:
            machine = self.root.library.header.machine
            return is_exported(symbol.name, machine, (*self.assumed, *process))
        return any(library.symbols.defines(symbol) for library in self._of_process(process))

    def _of_process(self, names: tuple[str, ...]) -> list[ElfLibrary]:
        """The libraries of these names on the machine, and those that they need."""
        if names not in self._libraries_of_process:
            closure, libraries = list(names), []
            for name in closure:  # grows in the loop
                _, library = self.system.find(name) or ("", None) if self.system is not None else ("", None)
                if library is not None:
                    libraries.append(library)
                    closure += [other for other in library.needed if other not in closure]
            self._libraries_of_process[names] = libraries
        return self._libraries_of_process[names]

    def _lacks_version(self, symbol: Undefined) -> bool:
        """Whether the library that should define it lacks its version, which `missing_versions` reports."""
        provider = self._by_name.get(symbol.library)
        defined = provider.library.defined_versions if provider is not None else ()
        return bool(defined) and symbol.version not in defined

    @cached_property
    def _by_name(self) -> dict[str, LoadedLibrary]:
        return {
            name: loaded for loaded in self.loaded for name in (loaded.name, loaded.library.soname) if name
        }

    def _is_assumed(self, symbol: Undefined) -> bool:
        """Whether it is linked to a system library of an unknown machine: such symbols have a version."""
        return self.system is None and bool(symbol.version) and not is_tensorflow(symbol.library)

    def own_libraries(self) -> list[LoadedLibrary]:
        """The loaded libraries that are not system libraries, in the order of their relocation."""
        return [loaded for loaded in reversed(self.loaded) if loaded.name not in SYSTEM_LIBRARIES]


def closure_of(
    root: LoadedLibrary, system: HostSystem | None, library_path: Sequence[str]
) -> DependencyClosure:
    """Follow the dependencies of a library breadth first, as the loader does."""
    closure = DependencyClosure(root, system, [root])
    names = {root.library.soname, os.path.basename(root.path)}
    for loaded in closure.loaded:  # grows in the loop
        for name in loaded.library.needed:
            if name in names:
                continue
            names.add(name)
            search = search_library(name, loaded, system, library_path)
            if search.result is not None and not (is_tensorflow(name) and _is_in_wheel(search)):
                closure.loaded.append(search.result)
                names.add(search.result.library.soname)
            elif is_tensorflow(name):
                closure.of_tensorflow[name] = loaded
            elif system is None and name in SYSTEM_LIBRARIES:
                closure.assumed.append(name)
            else:
                closure.missing.append((search, loaded))
        if len(closure.loaded) > MOST_LIBRARIES:
            break
    return closure


def _is_in_wheel(search: LibrarySearch) -> bool:
    """Whether a TensorFlow library is in a TensorFlow package, so that it is already in the process."""
    path = search.result.path if search.result else ""
    return os.path.basename(os.path.dirname(path)) in ("tensorflow", "tensorflow_core")
