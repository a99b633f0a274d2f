"""Diagnose whether a library loads on a target; report all causes in the loader's order.

The checks follow the dynamic loader: the file itself, the libraries that it needs, their
versions, then its symbols. TensorFlow's symbols are those recorded for each release; all
others are those of the machine, if it is known.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from tfport.atlas.target import Target
from tfport.check.findings.finding import ERROR, Finding
from tfport.check.findings.library_files import (
    BareName,
    DamagedLibrary,
    LibraryNotOpened,
    NotALibrary,
    NotForDlopen,
    ProgramNotLibrary,
    TruncatedLibrary,
    WrongMachine,
)
from tfport.lib.dependencies import layout_findings, library_findings
from tfport.lib.file_checks import NO_FILE, Rejection
from tfport.lib.registrations import registration_findings
from tfport.lib.subject import LibrarySubject
from tfport.lib.undefined_symbols import symbol_findings
from tfport.startup.dataclass import dataclass

LOADS, FAILS, UNKNOWN = "loads", "fails", "unknown"


@dataclass
class LibraryResult:
    """The verdict of one target on a library."""

    target: Target
    machine: str
    verdict: str
    findings: list[Finding]

    @property
    def says(self) -> str | None:
        """The message of `dlerror`: that of the first certain finding."""
        certain = (f for f in self.findings if f.severity == ERROR and f.decides and not f.doubt)
        return next((finding.says() for finding in certain), None)


def diagnose(subject: LibrarySubject, target: Target) -> LibraryResult:
    """Diagnose a library on one target."""
    findings = _staged(_findings(subject, target))
    if subject.is_readable and _verdict(findings) != FAILS:
        findings += _staged(layout_findings(subject, target))
    return LibraryResult(target, subject.machine, _verdict(findings), findings)


def _staged(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, each with the stage at which `dlopen` notices it."""
    staged = list(findings)
    for finding in staged:
        finding.stage = finding.when().stages("dlopen")[0]
    return staged


def _verdict(findings: Sequence[Finding]) -> str:
    errors = [finding for finding in findings if finding.severity == ERROR]
    is_certain = any(finding.decides and not finding.doubt for finding in errors)
    return FAILS if is_certain else UNKNOWN if errors else LOADS


def _findings(subject: LibrarySubject, target: Target) -> Iterator[Finding]:
    file = subject.file
    if subject.open_error is not None:
        what, message, hint = subject.open_error
        yield LibraryNotOpened(on=target, file=file, what=what, loader_error=message, hint=hint)
        return
    if subject.rejection is not None:
        yield _rejected(subject.rejection, file, target)
        return
    if subject.damage:
        yield DamagedLibrary(on=target, file=file, what=subject.damage)
        return
    yield from library_findings(subject, target)
    yield from symbol_findings(subject, target)
    yield from registration_findings(subject, target)
    if "/" not in file and not any(
        os.path.exists(os.path.join(p, file)) for p in subject.options.library_path
    ):
        yield _bare_name(subject, target)


def _bare_name(subject: LibrarySubject, target: Target) -> Finding:
    """A finding about a name without a `/`: the loader searches it and may find another file."""
    if not subject.options.literal:
        return BareName(on=target, file=subject.file)
    what = "not found in the folders that are searched for names without a `/`"
    return LibraryNotOpened(on=target, file=subject.file, what=what, loader_error=NO_FILE)


def _rejected(rejection: Rejection, file: str, target: Target) -> Finding:
    match rejection.kind:
        case "not a library":
            return NotALibrary(
                on=target,
                file=file,
                what=rejection.what,
                loader_error=rejection.says,
                instead=rejection.instead,
            )
        case "truncated":
            return TruncatedLibrary(on=target, file=file, what=rejection.what, loader_error=rejection.says)
        case "machine":
            return WrongMachine(on=target, file=file, what=rejection.what, loader_error=rejection.says)
        case "program":
            return ProgramNotLibrary(
                on=target,
                file=file,
                what=rejection.what,
                loader_error=rejection.says,
                instead=rejection.instead,
            )
        case "not for dlopen":
            return NotForDlopen(
                on=target,
                file=file,
                what=rejection.what,
                loader_error=rejection.says,
                instead=rejection.instead,
            )
    return DamagedLibrary(on=target, file=file, what=rejection.what, loader_error=rejection.says)
