"""Will a library load on a target, and if not, why? All causes, the one that the loader names first.

A file is looked at as the loader does it: the file itself, the libraries that it needs,
their versions, then symbol by symbol. The symbols of TensorFlow are those that were
recorded of each release; all others are those of the machine, if it is known.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tfport.atlas.target import Target
from tfport.check.findings.finding import ERROR, LOAD, Finding
from tfport.check.findings.library_files import (
    BareName,
    CutLibrary,
    DamagedLibrary,
    LibraryNotOpened,
    NoSharedLibrary,
    NotForDlopen,
    ProgramNotLibrary,
    WrongMachine,
)
from tfport.check.lib.closure import DependencyClosure, closure_of
from tfport.check.lib.dependencies import library_findings
from tfport.check.lib.file_checks import NO_FILE, Rejection, check_file
from tfport.check.lib.host_system import HostSystem, system_of
from tfport.check.lib.library_search import LoadedLibrary
from tfport.check.lib.origin import BuildOrigin, origin_of
from tfport.check.lib.registrations import registration_findings
from tfport.check.lib.undefined_symbols import symbol_findings
from tfport.errors import UnreadableFile
from tfport.formats.elf.library import ARM, X86, Library, read_header
from tfport.formats.files import Folder, reason
from tfport.registry.library import Registered, registered_by

LOADS, FAILS, UNKNOWN = "loads", "fails", "unknown"
MACHINES = (X86, ARM)


@dataclass
class LibraryResult:
    """What one target does with a library."""

    target: Target
    machine: str
    verdict: str
    findings: list[Finding]

    @property
    def says(self) -> str | None:
        """What `dlerror` gives: the first of all that is wrong."""
        sure = (f for f in self.findings if f.severity == ERROR and f.decides and not f.doubt)
        return next((finding.says() for finding in sure), None)


@dataclass
class LoadOptions:
    """Where a library is loaded: what of the machine is known."""

    library_path: Sequence[str] = ()
    sysroot: str | None = None
    machine: str | None = None
    """Of the process; None for that of the library."""
    python: str | None = None
    """Of the process, such as `3.7`; None where it is not known."""
    looks_here: bool = True
    """Whether this machine counts where it has the right processor."""
    literal: bool = False
    """Whether the name is what `dlopen` is given, as it stands."""


@dataclass
class LibrarySubject:
    """A file that is asked about, and what was found out of it for all targets."""

    file: str
    """As it was named."""
    path: str
    """Where its bytes are."""
    asked: LoadOptions = field(default_factory=LoadOptions)
    archive: str = ""
    """The archive that it is in, if any, and where that was unpacked."""
    unpacked: str = ""
    declares: str = ""
    """What the package that it is in asks of TensorFlow."""

    @cached_property
    def trouble(self) -> tuple[str, str, str] | None:
        """Why it cannot be opened: what, in the loader's words, and a hint; None where it can."""
        return _not_opened(self.file, self.path)

    @cached_property
    def data(self) -> memoryview:
        folder, name = os.path.split(self.path)
        return Folder(folder or ".").map(name)

    @cached_property
    def machine(self) -> str:
        """The one that was asked for; else that of the library, if there is a TensorFlow for it."""
        if self.asked.machine:
            return self.asked.machine
        try:
            found = read_header(self.data, self.file).machine
        except UnreadableFile:
            return X86
        return found if found in MACHINES else X86

    @cached_property
    def refusal(self) -> Rejection | None:
        return check_file(self.data, self.file, self.machine)

    @cached_property
    def library(self) -> Library:
        return Library(self.data, self.file)

    @cached_property
    def system(self) -> HostSystem | None:
        if self.asked.sysroot is None and not self.asked.looks_here:
            return None
        return system_of(self.asked.sysroot, self.machine)

    @cached_property
    def closure(self) -> DependencyClosure:
        return closure_of(
            LoadedLibrary(self.library.soname, self.path, self.library), self.system, self.asked.library_path
        )

    @cached_property
    def origin(self) -> BuildOrigin:
        return origin_of(self.closure, self.machine)

    @cached_property
    def registered(self) -> Registered:
        return registered_by(self.library)

    @cached_property
    def damage(self) -> str:
        """Why its tables cannot be read; empty where they can."""
        try:
            self.origin  # noqa: B018  all tables of it and of what it brings
            self.registered  # noqa: B018
        except UnreadableFile as error:
            return str(error).removeprefix(f"{self.file}: ")
        return ""

    @cached_property
    def is_readable(self) -> bool:
        return self.trouble is None and self.refusal is None and not self.damage

    def name_in_messages(self, loaded: LoadedLibrary) -> str:
        """A library as the loader names it: the one that was asked about as it was named."""
        return self.file if loaded.by is None else self.shown(loaded.path)

    def shown(self, path: str) -> str:
        """A path as a person knows it: in the archive, not where that was unpacked."""
        return path.replace(f"{self.unpacked}/", "") if self.unpacked else path


def diagnose(subject: LibrarySubject, target: Target) -> LibraryResult:
    """What a target does with a library."""
    findings = list(_findings(subject, target))
    for finding in findings:
        finding.stage = LOAD if finding.usual == ERROR else None
    grave = [finding for finding in findings if finding.severity == ERROR]
    is_sure = any(finding.decides and not finding.doubt for finding in grave)
    verdict = FAILS if is_sure else UNKNOWN if grave else LOADS
    return LibraryResult(target, subject.machine, verdict, findings)


def _findings(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    file = subject.file
    if subject.trouble is not None:
        what, said, hint = subject.trouble
        yield LibraryNotOpened(on=target, file=file, what=what, said=said, hint=hint)
        return
    if subject.refusal is not None:
        yield _refused(subject.refusal, file, target)
        return
    if subject.damage:
        yield DamagedLibrary(on=target, file=file, what=subject.damage)
        return
    yield from library_findings(subject, target)
    yield from symbol_findings(subject, target)
    yield from registration_findings(subject, target)
    if "/" not in file and not any(os.path.exists(os.path.join(p, file)) for p in subject.asked.library_path):
        yield _bare_name(subject, target)


def _bare_name(subject: LibrarySubject, target: Target) -> Finding:
    """A name without a `/` is searched for: what was asked about is there, but may not be what is found."""
    if not subject.asked.literal:
        return BareName(on=target, file=subject.file)
    what = "not found where names without a `/` are looked for"
    return LibraryNotOpened(on=target, file=subject.file, what=what, said=NO_FILE)


def _refused(refusal: Rejection, file: str, target: Target) -> Finding:
    match refusal.kind:
        case "foreign":
            return NoSharedLibrary(
                on=target, file=file, what=refusal.what, said=refusal.says, instead=refusal.instead
            )
        case "cut":
            return CutLibrary(on=target, file=file, what=refusal.what, said=refusal.says)
        case "machine":
            return WrongMachine(on=target, file=file, what=refusal.what, said=refusal.says)
        case "program":
            return ProgramNotLibrary(
                on=target, file=file, what=refusal.what, said=refusal.says, instead=refusal.instead
            )
        case "refuses":
            return NotForDlopen(
                on=target, file=file, what=refusal.what, said=refusal.says, instead=refusal.instead
            )
    return DamagedLibrary(on=target, file=file, what=refusal.what, said=refusal.says)


def _not_opened(file: str, path: str) -> tuple[str, str, str] | None:
    if os.path.isdir(path):
        return "a folder", "cannot read file data: Is a directory", ""
    try:
        os.stat(path)
    except OSError as error:
        hint = "" if os.path.isabs(path) else f"a relative path, looked for in {os.getcwd()}"
        if file.startswith("~"):
            hint = "`~` stands for the home folder in a shell, not in dlopen"
        return reason(error), f"cannot open shared object file: {error.strerror}", hint
    except ValueError:
        return "no name of a file", NO_FILE, ""
    if not os.access(path, os.R_OK):
        return "may not be read", "cannot open shared object file: Permission denied", ""
    return None
