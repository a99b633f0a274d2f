"""The library under diagnosis, and what is known about the machine and the process that load it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from packaging.requirements import Requirement

from tfport.errors import UnreadableFile
from tfport.formats.elf.library import ARM, X86, ElfLibrary, read_header
from tfport.formats.files import Folder, reason
from tfport.lib.closure import DependencyClosure, closure_of
from tfport.lib.file_checks import NO_FILE, Rejection, check_file
from tfport.lib.files import LibraryFile, applicable_requirements
from tfport.lib.host_system import HostSystem, system_of
from tfport.lib.library_search import LoadedLibrary
from tfport.lib.origin import BuildOrigin, origin_of
from tfport.registry.library import Registered, registered_by
from tfport.startup.dataclass import dataclass, field

MACHINES = (X86, ARM)


@dataclass
class LoadOptions:
    """What is known about the machine and the process that load a library."""

    library_path: Sequence[str] = ()
    sysroot: str | None = None
    machine: str | None = None
    """The architecture of the process; None for that of the library."""
    python: str | None = None
    """The Python version of the process, such as `3.7`; None if unknown."""
    use_this_machine: bool = True
    """Whether to use the libraries of this machine if its architecture matches."""
    literal: bool = False
    """Whether the name is passed to `dlopen` unchanged."""


@dataclass
class LibrarySubject:
    """The library under diagnosis, and what is the same for all targets."""

    file: str
    """The name that the user gave."""
    path: str
    """The path of its contents."""
    options: LoadOptions = field(default_factory=LoadOptions)
    archive: str = ""
    """The archive that contains it."""
    unpacked: str = ""
    """The folder where the archive was unpacked."""
    requires: tuple[str, ...] = ()
    """The lines of its package's metadata that require TensorFlow."""
    is_named: bool = True
    """Whether the user named it, rather than a folder or an archive that contains it."""

    @classmethod
    def of(cls, library: LibraryFile, options: LoadOptions) -> LibrarySubject:
        return cls(
            library.file,
            library.path,
            options,
            library.archive,
            library.unpacked,
            library.requires,
            library.is_named,
        )

    @cached_property
    def requirements(self) -> list[Requirement]:
        """What its package requires of TensorFlow on the machine and the Python that load it."""
        return applicable_requirements(self.requires, self.machine, self.options.python)

    @property
    def declares(self) -> str:
        """The TensorFlow versions that its package requires; empty if it does not say."""
        texts = dict.fromkeys(f"{each.name}{each.specifier}" for each in self.requirements)
        return " or ".join(texts)

    @cached_property
    def open_error(self) -> tuple[str, str, str] | None:
        """Why it cannot be opened: a reason, the loader's message and a hint; None if it can."""
        return _not_opened(self.file, self.path)

    @cached_property
    def data(self) -> memoryview:
        folder, name = os.path.split(self.path)
        return Folder(folder or ".").map(name)

    @cached_property
    def machine(self) -> str:
        """The architecture of the process: as requested, or that of the library if TensorFlow supports it."""
        if self.options.machine:
            return self.options.machine
        try:
            machine = read_header(self.data, self.file).machine
        except UnreadableFile:
            return X86
        return machine if machine in MACHINES else X86

    @cached_property
    def rejection(self) -> Rejection | None:
        return check_file(self.data, self.file, self.machine)

    @cached_property
    def library(self) -> ElfLibrary:
        return ElfLibrary(self.data, self.file)

    @cached_property
    def system(self) -> HostSystem | None:
        if self.options.sysroot is None and not self.options.use_this_machine:
            return None
        return system_of(self.options.sysroot, self.machine)

    @cached_property
    def closure(self) -> DependencyClosure:
        return closure_of(
            LoadedLibrary(self.library.soname, self.path, self.library),
            self.system,
            self.options.library_path,
        )

    @cached_property
    def origin(self) -> BuildOrigin:
        return origin_of(self.closure, self.machine)

    @cached_property
    def registered(self) -> Registered:
        return registered_by(self.library)

    @cached_property
    def damage(self) -> str:
        """Why its tables cannot be read; empty if they can."""
        try:
            self.origin  # noqa: B018  reads all tables of the library and its dependencies
            self.registered  # noqa: B018
        except UnreadableFile as error:
            return str(error).removeprefix(f"{self.file}: ")
        return ""

    @cached_property
    def is_readable(self) -> bool:
        return self.open_error is None and self.rejection is None and not self.damage

    def name_in_messages(self, loaded: LoadedLibrary) -> str:
        """A library's name in the loader's messages: for the library under diagnosis, the user's name."""
        return self.file if loaded.by is None else self.shown(loaded.path)

    def shown(self, path: str) -> str:
        """A path for people: inside the archive, not where it was unpacked."""
        return path.replace(f"{self.unpacked}/", "") if self.unpacked else path


def _not_opened(file: str, path: str) -> tuple[str, str, str] | None:
    if os.path.isdir(path):
        return "a folder", "cannot read file data: Is a directory", ""
    try:
        os.stat(path)
    except OSError as error:
        hint = "" if os.path.isabs(path) else f"a relative path, resolved in {os.getcwd()}"
        if file.startswith("~"):
            hint = "dlopen does not expand `~`; only shells do"
        return reason(error), f"cannot open shared object file: {error.strerror}", hint
    except ValueError:
        return "not a valid file name", NO_FILE, ""
    if not os.access(path, os.R_OK):
        return "permission denied", "cannot open shared object file: Permission denied", ""
    return None
