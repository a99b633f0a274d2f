"""The report of `tfport lib`: each library, and the verdict of each target."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

from tfport.atlas.atlas import ARM
from tfport.atlas.release_spans import STOCK
from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target import Target
from tfport.check.findings.finding import Finding
from tfport.check.findings.library_dependencies import (
    MissingCudaLibrary,
    MissingLibrary,
    MissingTensorFlowLibrary,
    SystemTooOld,
    UnknownMachine,
)
from tfport.check.findings.library_symbols import OtherCxxAbi, SymbolFinding
from tfport.formats.elf.mangling import short_name
from tfport.lib.diagnosis import FAILS, LOADS, UNKNOWN, LibraryResult, diagnose
from tfport.lib.files import LibraryFile, libraries_in
from tfport.lib.subject import LibrarySubject, LoadOptions
from tfport.rendering import RenderedResult
from tfport.startup.dataclass import dataclass, field, replace

EVERY_RELEASE = {ARM: "tensorflow-aarch64>=2.10"}
STOCK_SINCE = f"{STOCK}>=1.0"


@dataclass
class LibraryReport:
    """One library and the verdict of each target."""

    subject: LibrarySubject
    results: list[LibraryResult]
    every_release: bool = False
    """Whether no target was requested, so that all recorded releases were tried."""

    @property
    def file(self) -> str:
        return self.subject.file

    @cached_property
    def verdict(self) -> str:
        """The worst verdict of the requested targets; the best of all releases if none was requested."""
        verdicts = {result.verdict for result in self.results}
        order = (LOADS, UNKNOWN, FAILS) if self.every_release else (FAILS, UNKNOWN, LOADS)
        return next((verdict for verdict in order if verdict in verdicts), UNKNOWN)


@dataclass(repr=False)
class LibraryReports(RenderedResult):
    """The reports of several libraries."""

    libraries: list[LibraryReport] = field(default_factory=list)
    others: int = 0
    """The number of further shared libraries without ops."""

    @property
    def exit_code(self) -> int:
        verdicts = {library.verdict for library in self.libraries}
        return 1 if FAILS in verdicts else 2 if UNKNOWN in verdicts else 0


def report_on(
    names: Sequence[str], on: Sequence[str] = (), options: LoadOptions | None = None
) -> LibraryReports:
    """Diagnose every op library in files, folders and wheels on the targets."""
    options = options or LoadOptions()
    targets = [(target, _machine(text, target)) for text in on for target in resolve_targets(text)]
    with libraries_in(list(names)) as collection:
        reports = [_report(library, targets, options) for library in collection.libraries]
        return LibraryReports(reports, collection.others)


def _machine(text: str, target: Target) -> str | None:
    """The architecture of a target that is a path; None for a release, which has wheels for several."""
    return target.build.platform if target.build is not None and os.path.exists(text) else None


def _report(
    library: LibraryFile, targets: Sequence[tuple[Target, str | None]], options: LoadOptions
) -> LibraryReport:
    first = LibrarySubject.of(library, options)
    if not targets:
        every = resolve_targets(
            EVERY_RELEASE.get(first.machine, STOCK_SINCE) if first.open_error is None else STOCK_SINCE
        )
        shown = every if first.is_readable else every[-1:]
        return LibraryReport(first, [diagnose(first, target) for target in shown], every_release=True)
    subjects = {None: first, options.machine: first}
    results = []
    for target, machine in targets:
        if machine not in subjects:
            subjects[machine] = replace(first, options=replace(options, machine=machine))
        results.append(diagnose(subjects[machine], target))
    return LibraryReport(subjects[targets[0][1]], results)


def label_of(finding: Finding) -> str:
    """A library, symbol or version such as `libacme.so.1`; the name of the finding if it has none."""
    match finding:
        case MissingLibrary() | MissingCudaLibrary() | MissingTensorFlowLibrary():
            return finding.library
        case OtherCxxAbi():
            return f"compiled with _GLIBCXX_USE_CXX11_ABI={finding.abi}"
        case SymbolFinding():
            return short_name(finding.missing[0])
        case SystemTooOld():
            return f"{finding.family} {finding.wanted}"
        case UnknownMachine():
            return finding.libraries
    return finding.op or finding.name
