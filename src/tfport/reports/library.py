"""Library reports as text and JSON, the contract of `tfport lib --json`, version 1.

The text has each library, a line for each target, then every finding once. Without targets, a strip of
all minor releases and the ranges that load the library.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from tfport.atlas.release_spans import Span, spans, spans_text
from tfport.atlas.versions import version_key
from tfport.check.findings.finding import ERROR, NOTE, WARNING, Finding
from tfport.formats.elf.library import ElfLibrary
from tfport.lib.diagnosis import FAILS, LOADS, UNKNOWN, LibraryResult
from tfport.lib.file_checks import machine_text
from tfport.lib.report import LibraryReport, LibraryReports, label_of
from tfport.rendering import json_of
from tfport.reports.check.text import LABEL, SEVERITIES
from tfport.reports.console import GAP, columns, cut_off, facts, indented, labeled, text_of, title
from tfport.reports.layout import Grid, ReportPart, Text
from tfport.reports.library_contents import registers_json
from tfport.words import printable

VERSION = 1
STYLES = {LOADS: "green", FAILS: "bold red", UNKNOWN: "bold yellow"}
MARKS = {LOADS: "●", FAILS: "x", UNKNOWN: "?"}
MIXED, MIXED_STYLE = "~", "cyan"
WORDS = {LOADS: "load", FAILS: "fail", UNKNOWN: "unknown"}
MOST_IN_FULL = 3
MOST_OPS = 8
MOST_NEEDED = 6
MOST_FIXES = 3
MOST_LABELS = 2
LABEL_WIDTH = 36


@text_of(LibraryReports)
def libraries_text(report: LibraryReports, width: int, *, everything: bool = False) -> Iterator[ReportPart]:
    """Render the reports; of many libraries, only a few that do not load are shown in full."""
    libraries = report.libraries
    if len(libraries) == 1 or everything:
        shown = libraries
    else:
        shown = [library for library in libraries if library.verdict != LOADS][:MOST_IN_FULL]
    for library in shown:
        yield from _library(library, width, everything=everything)
    if len(libraries) > 1:
        yield from _summary(report, width)
    if report.others:
        others = "1 other shared library" if report.others == 1 else f"{report.others} other shared libraries"
        yield Text(f"\n{others} without ops", style="dim")


def _summary(report: LibraryReports, width: int) -> Iterator[ReportPart]:
    """A line for each library, sorted by verdict."""
    libraries = report.libraries
    counts = {verdict: len([1 for library in libraries if library.verdict == verdict]) for verdict in STYLES}
    summary = ", ".join(f"{n} {WORDS[verdict]}" for verdict, n in counts.items() if n)
    folder = os.path.commonpath([os.path.dirname(library.file) for library in libraries])
    yield title(f"{len(libraries)} libraries", f"{summary}{f', all in {folder}' if folder else ''}")
    rows = []
    for library in libraries:
        codes = dict.fromkeys(f.code for r in library.results for f in r.findings if f.severity != NOTE)
        where = spans_text(_spans(library, LOADS)) if library.every_release else ", ".join(codes)
        rows.append((library.verdict, where, os.path.relpath(library.file, folder or ".")))
    yield columns(sorted(rows), width)


def _library(library: LibraryReport, width: int, *, everything: bool) -> Iterator[ReportPart]:
    subject = library.subject
    inside = [f"in {os.path.basename(subject.archive)}"] if subject.archive else []
    if not subject.is_readable:
        yield title(library.file, ", ".join(inside))
    else:
        elf = subject.library
        yield title(
            library.file, ", ".join([machine_text(elf.header.machine), f"{elf.size:,} bytes", *inside])
        )
        yield facts(_facts(library, everything=everything), width)
    if library.every_release and subject.is_readable:
        yield from _strip(library)
        yield from _breaks(library, width)
        yield from _findings(library.results[-1:], everything=everything, only=WARNING)
    else:
        if not library.every_release:
            yield Text()
            yield indented(_verdicts(library))
        yield from _findings(library.results, everything=everything)


def _facts(library: LibraryReport, *, everything: bool) -> Iterator[tuple[str, list[str]]]:
    subject = library.subject
    yield "registers", _registers(library, everything=everything)
    facts = subject.origin.describe()
    yield (
        "built with",
        [*facts, *([f"its package requires {subject.declares}"] if subject.declares else [])],
    )
    yield "needs", _cut(_needs(subject.library), MOST_NEEDED, everything=everything)


def _registers(library: LibraryReport, *, everything: bool) -> list[str]:
    registered = library.subject.registered
    devices = {
        op: sorted({k.device or "?" for k in registered.kernels if k.op == op})
        for op in registered.kernel_ops
    }
    names = [*registered.op_names, *(op for op in registered.kernel_ops if op not in registered.op_names)]
    shown = []
    for name in names:
        on = "/".join(devices.get(name, [])) or "no kernel"
        shown.append(f"{name} ({on})" if name in registered.op_names else f"{name} (only {on} kernels)")
    how_much = "possibly more" if shown else "unknown"
    partly = [f"{how_much}: {registered.why_partial}"] if registered.partial else []
    return [*_cut(shown, MOST_OPS, everything=everything), *partly] or ["nothing"]


def _cut(items: list[str], most: int, *, everything: bool) -> list[str]:
    if everything or len(items) <= most:
        return items
    return [*items[:most], f"… {len(items) - most} more"]


def _needs(library: ElfLibrary) -> list[str]:
    """The needed libraries, each with the newest version of each family that it requires."""
    shown = []
    for name in library.needed:
        newest: dict[str, str] = {}
        for version in library.required_versions.get(name, {}):
            family, _, number = version.rpartition("_")
            if number[:1].isdigit() and (
                family not in newest or version_key(number) > version_key(newest[family])
            ):
                newest[family] = number
        versions = ", ".join(
            f"{family} {number}" for family, number in sorted(newest.items()) if family != "GCC"
        )
        shown.append(f"{name} ({versions})" if versions else name)
    return shown


def _verdicts(library: LibraryReport) -> ReportPart:
    grid = Grid(gap=GAP)
    for result in library.results:
        codes = dict.fromkeys(f.code for f in result.findings if f.severity != NOTE)
        style = STYLES[result.verdict]
        grid.add_row(printable(result.target.name), Text(result.verdict, style=style), ", ".join(codes))
    return grid


def _strip(library: LibraryReport) -> Iterator[ReportPart]:
    """A row for each major release, a column for each minor release."""
    series: dict[int, dict[int, set[str]]] = {}
    for result in library.results:
        major, minor, *_ = version_key(_release(result)).release
        series.setdefault(major, {}).setdefault(minor, set()).add(result.verdict)
    last = max(minor for minors in series.values() for minor in minors)
    yield Text()
    yield Text(" " * 7 + "".join(f"{minor:3}" for minor in range(last + 1)), style="dim")
    for major, minors in series.items():
        line = Text(f"  {major}.x  ", style="dim")
        for minor in range(max(minors) + 1):
            mark, style = _mark(minors.get(minor, set()))
            line.append(f"{mark:>3}", style=style)
        yield line
    verdicts = {result.verdict for result in library.results}
    legend = [(MARKS[v], STYLES[v], v) for v in MARKS if v in verdicts]
    legend += [(MIXED, MIXED_STYLE, "differs between patches")] if _is_mixed(series) else []
    yield Text()
    yield indented(
        Text("   ").join(Text.assemble((mark, style), f" {means}") for mark, style, means in legend)
    )


def _mark(verdicts: set[str]) -> tuple[str, str]:
    if not verdicts:
        return " ", ""
    (first, *others) = verdicts
    return (MIXED, MIXED_STYLE) if others else (MARKS[first], STYLES[first])


def _is_mixed(series: dict[int, dict[int, set[str]]]) -> bool:
    return any(len(verdicts) > 1 for minors in series.values() for verdicts in minors.values())


def _release(result: LibraryResult) -> str:
    return result.target.build.version if result.target.build is not None else "0"


def _spans(library: LibraryReport, verdict: str) -> tuple[Span, ...]:
    builds = [result.target.build for result in library.results if result.target.build is not None]
    having = {
        r.target.build.number for r in library.results if r.verdict == verdict and r.target.build is not None
    }
    return spans(builds, having)


def _breaks(library: LibraryReport, width: int) -> Iterator[ReportPart]:
    """The releases that load it, and the findings on the others by code."""
    yield title("loads on")
    yield indented(Text(spans_text(_spans(library, LOADS)) or "no recorded release"))
    builds = [result.target.build for result in library.results if result.target.build is not None]
    errors = [(r, f) for r in library.results for f in r.findings if f.severity == ERROR]
    rows = []
    for code, group in groupby(sorted(errors, key=lambda pair: pair[1].code), lambda pair: pair[1].code):
        pairs = list(group)
        having = {r.target.build.number for r, _ in pairs if r.target.build is not None}
        labels = [
            cut_off(label, LABEL_WIDTH) for label in dict.fromkeys(label_of(f) for _, f in reversed(pairs))
        ]
        more = f" and {len(labels) - MOST_LABELS} more" if len(labels) > MOST_LABELS else ""
        rows.append((code, ",\n".join(labels[:MOST_LABELS]) + more, spans_text(spans(builds, having))))
    if rows:
        yield title("breaks on")
        yield columns(rows, width)


def _findings(
    results: Sequence[LibraryResult], *, everything: bool, only: str | None = None
) -> Iterator[ReportPart]:
    """Every finding once, with its targets if not all have it."""
    groups: dict[tuple[str, str, str], list[tuple[LibraryResult, Finding]]] = {}
    for result in results:
        for finding in result.findings:
            if only in (None, finding.severity):
                gap = (
                    finding.message.replace(finding.target, "\0"),
                    finding.cause().replace(finding.target, "\0"),
                )
                groups.setdefault((finding.code, *gap), []).append((result, finding))
    for places in groups.values():
        yield from _finding(places, len(results), everything=everything)


def _finding(
    places: list[tuple[LibraryResult, Finding]], targets: int, *, everything: bool
) -> Iterator[ReportPart]:
    finding = places[0][1]
    head = f"{finding.severity}[{finding.code}]"
    yield Text.assemble(
        "\n", (head, SEVERITIES[finding.severity]), (f": {printable(finding.message)}", "bold")
    )
    rows = list(_body(finding, everything=everything))
    if 1 < len(places) < targets:
        rows.append(("also:", ", ".join(result.target.name for result, _ in places[1:])))
    yield from labeled(rows, LABEL)


def _body(finding: Finding, *, everything: bool) -> Iterator[tuple[str, str]]:
    if cause := finding.cause():
        yield "cause:", cause
    if finding.doubt:
        yield "doubt:", finding.doubt
    if message := finding.says():
        yield "says:", message
    fixes = finding.fixes()
    for fix in fixes[: None if everything else MOST_FIXES]:
        yield "fix:", fix


@json_of(LibraryReports)
def libraries_json(report: LibraryReports) -> dict[str, Any]:
    return {
        "version": VERSION,
        "libraries": [_library_json(library) for library in report.libraries],
        "other_libraries": report.others,
    }


def _library_json(library: LibraryReport) -> dict[str, Any]:
    return {
        "file": library.file,
        "archive": library.subject.archive or None,
        "verdict": library.verdict,
        "library": _facts_json(library) if library.subject.is_readable else None,
        "results": [_result_json(result) for result in library.results],
    }


def _facts_json(library: LibraryReport) -> dict[str, Any]:
    subject = library.subject
    elf, origin = subject.library, subject.origin
    return {
        "machine": elf.header.machine,
        "size": elf.size,
        "soname": elf.soname or None,
        "needed": elf.needed,
        "rpath": elf.rpath,
        "runpath": elf.runpath,
        "versions": {name: sorted(versions) for name, versions in elf.required_versions.items()},
        "built_with": {
            "tensorflow": [span.to_json() for span in origin.spans],
            "abseil": origin.abseil or None,
            "cxx11_abi": origin.cxx11_abi,
            "declares": subject.declares or None,
        },
        "registers": registers_json(subject.registered),
    }


def _result_json(result: LibraryResult) -> dict[str, Any]:
    return {
        "target": result.target.requirement,
        "machine": result.machine,
        "verdict": result.verdict,
        "says": result.says,
        "notes": result.target.notes,
        "findings": [_finding_json(finding) for finding in result.findings],
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "op": finding.op,
        "message": finding.message,
        "says": finding.says(),
        "cause": finding.cause(),
        "doubt": finding.doubt or None,
        "symbols": getattr(finding, "missing", []),
        "fixes": finding.fixes(),
    }
