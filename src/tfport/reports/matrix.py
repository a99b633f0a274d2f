"""A matrix as text and JSON, the contract of `tfport matrix --json`, version 1.

The text has a strip of minor releases for each setting, then where the model runs and what breaks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from tfport.check.check import FAILS, RUNS, UNKNOWN
from tfport.check.findings.finding import LOAD, RUN
from tfport.matrix.matrix import Cause, Matrix, MatrixCell, Strip, joined
from tfport.matrix.settings import Setting, among, by_outline, label, running, settings_of
from tfport.rendering import json_of
from tfport.reports.console import GAP, INDENT, cut_off, flowing, indented, text_of, title
from tfport.reports.layout import Grid, ReportPart, Text
from tfport.reports.outputs import outputs_json, outputs_sentence
from tfport.startup.dataclass import dataclass, replace
from tfport.words import printable

VERSION = 1
STEP = 5
"""Every fifth minor release has a label."""
LABEL = WHEN = 32
LEAST = 24
MIXED = "mixed"
PACKAGES_OF_TENSORFLOW = frozenset({"tensorflow", "tensorflow-gpu"})


@dataclass(frozen=True, slots=True)
class CellMark:
    """How an outcome is drawn."""

    symbol: str
    style: str
    means: str


CELL_MARKS: dict[object, CellMark] = {
    (RUNS, None): CellMark("●", "green", "runs"),
    (FAILS, LOAD): CellMark("x", "red", "fails at load"),
    (FAILS, RUN): CellMark("!", "yellow", "fails at run"),
    (UNKNOWN, None): CellMark("?", "magenta", "unknown"),
    MIXED: CellMark("~", "cyan", "differs between patches (--all)"),
}


@text_of(Matrix)
def matrix_text(matrix: Matrix, width: int, *, everything: bool = False) -> Iterator[ReportPart]:
    """Render the whole report; `everything` also lists every patch release."""
    yield title(matrix.model, _origin(matrix))
    if matrix.outputs is not None:
        yield indented(Text(printable(outputs_sentence(matrix.outputs)), style="dim"))
    packages = list(dict.fromkeys(strip.package for strip in matrix.strips))
    if len(packages) > len(PACKAGES_OF_TENSORFLOW.intersection(packages)):
        for package in packages:  # each has releases of its own
            strips = [strip for strip in matrix.strips if strip.package == package]
            yield title(package)
            yield from _rendered(replace(matrix, strips=strips), width, everything=everything)
        return
    yield from _rendered(matrix, width, everything=everything)


def _rendered(matrix: Matrix, width: int, *, everything: bool) -> Iterator[ReportPart]:
    """Strips of the same releases, where the model runs, and what breaks."""
    cells = matrix.strips[0].cells
    if all(cell.verdict == RUNS for strip in matrix.strips for cell in strip.cells):
        settings = label(settings_of(matrix.strips), settings_of(matrix.strips))
        first, last = cells[0].release, cells[-1].release
        yield indented(
            Text(f"runs on all {len(cells)} releases, {first} to {last}: {settings}", style="green")
        )
        return
    yield from _strips(matrix, width)
    yield from _edges(matrix, width)
    if everything:
        yield from _releases(matrix, width)


def _origin(matrix: Matrix) -> str:
    if matrix.keras:
        return f"saved by Keras {matrix.keras}"
    if matrix.lite:
        return matrix.lite
    return f"saved by TensorFlow {matrix.tensorflow}" if matrix.tensorflow not in ("", "unknown") else ""


def _strips(matrix: Matrix, width: int) -> Iterator[ReportPart]:
    """One line for each group of settings with equal outcomes."""
    minors = _minors(matrix.strips[0].cells)
    every = settings_of(matrix.strips)
    rows = [(cut_off(label(settings, every), LABEL), strip) for settings, strip in by_outline(matrix.strips)]
    space = width - INDENT - max(len(name) for name, _ in rows) - GAP
    size = 2 if len(minors) * 2 + GAP <= space else 1
    grid = Grid(gap=GAP)
    grid.add_row("", Text(_scale(minors, size), style="dim"))
    for name, strip in rows:
        grid.add_row(Text(printable(name)), _symbols(strip, size))
    yield Text()
    yield indented(grid)
    yield Text()
    yield indented(_legend(matrix))


Minor = tuple[int, int]


def _minors(cells: Sequence[MatrixCell]) -> list[Minor]:
    return list(dict.fromkeys(cell.minor for cell in cells))


def _scale(minors: Sequence[Minor], size: int) -> str:
    """The labels of some minor releases above their columns, with a gap between major releases."""
    line, place = "", 0
    for i, (major, minor) in enumerate(minors):
        starts = not i or minors[i - 1][0] != major
        place += bool(i and starts)
        ends = any(m != major for m, _ in minors[i : i + STEP // size])  # the next label needs the space
        if len(line) <= place and (starts or (minor % STEP == 0 and not ends)):
            line = line.ljust(place) + f"{major}.{minor} "
        place += size
    return line.rstrip()


def _symbols(strip: Strip, size: int) -> Text:
    text, series = Text(), None
    for (major, _), cells in by_minor(strip):
        text.append(" " if series not in (None, major) else "")
        mark = _mark(cells)
        text.append(mark.symbol.ljust(size), style=mark.style)
        series = major
    return text


def by_minor(strip: Strip) -> Iterator[tuple[Minor, list[MatrixCell]]]:
    for minor, cells in groupby(strip.cells, lambda cell: cell.minor):
        yield minor, list(cells)


def _mark(cells: Sequence[MatrixCell]) -> CellMark:
    outcomes = {(cell.verdict, cell.stage) for cell in cells}
    return CELL_MARKS[outcomes.pop() if len(outcomes) == 1 else MIXED]


def _legend(matrix: Matrix) -> Text:
    """The meaning of the symbols in the drawing."""
    drawn = [_mark(cells) for strip in matrix.strips for _, cells in by_minor(strip)]
    shown = [mark for mark in CELL_MARKS.values() if mark in drawn]
    return Text("   ").join(Text.assemble((mark.symbol, mark.style), f" {mark.means}") for mark in shown)


def _edges(matrix: Matrix, width: int) -> Iterator[ReportPart]:
    """Where the model runs, and every cause with the releases that it breaks."""
    yield title("runs")
    yield _table(running(matrix.strips), [], width)
    rows = _broken(matrix.strips)
    if rows:
        yield title("breaks")
        head = [(row.when, row.where, row.stage, row.code) for row in rows]
        yield _table(head, [sorted(row.subjects) for row in rows], width)


def _table(heads: Sequence[Sequence[str]], lists: Sequence[list[str]], width: int) -> ReportPart:
    """Columns of the needed width, and lists that wrap in the remaining space."""
    sizes = [max(map(len, column)) for column in zip(*heads, strict=True)]
    used = [i for i, size in enumerate(sizes) if size]
    grid = Grid(gap=GAP)
    grid.add_column(max_width=WHEN)
    space = width - INDENT - sum(min(sizes[i], WHEN) + GAP for i in used)
    for i, head in enumerate(heads):
        texts = [Text(printable(head[j]), style="dim" if j == 1 else "") for j in used]
        grid.add_row(*texts, *([flowing(lists[i], max(space, LEAST))] if lists else []))
    return indented(grid)


@dataclass(slots=True)
class BreakRow:
    """Findings that break the same releases in the same settings."""

    when: str
    where: str
    stage: str
    code: str
    subjects: set[str]
    last: int
    """The index of the newest release that it breaks."""


def _broken(strips: Sequence[Strip]) -> list[BreakRow]:
    """The rows of findings, starting with those that break the newest releases."""
    groups: dict[tuple[Cause, str, int], list[Setting]] = {}
    for strip in strips:
        for cause, ranges in strip.broken():
            last = strip.cells.index(ranges[-1].cells[-1])
            groups.setdefault((cause, joined(ranges), last), []).extend(settings_of([strip]))
    rows: dict[tuple[str, ...], BreakRow] = {}
    for (cause, when, last), settings in groups.items():
        for where in among(settings, settings_of(strips)):
            key = when, where, cause.stage, cause.code
            rows.setdefault(key, BreakRow(*key, set(), last)).subjects.add(cause.subject)
    return sorted(rows.values(), key=lambda row: (-row.last, row.when, row.stage, row.where, row.code))


def _releases(matrix: Matrix, width: int) -> Iterator[ReportPart]:
    """Every release with its outcome and causes."""
    for settings, strip in by_outline(matrix.strips):
        yield title("releases", label(settings, settings_of(matrix.strips)))
        grid = Grid(gap=GAP)
        for cell in strip.cells:
            mark = CELL_MARKS[cell.verdict, cell.stage]
            causes = [f"{cause.subject} ({cause.code})" for cause in cell.causes]
            grid.add_row(cell.release, Text(mark.means, style=mark.style), flowing(causes, width - 30))
        yield indented(grid)


@json_of(Matrix)
def matrix_json(matrix: Matrix) -> dict[str, Any]:
    return {
        "version": VERSION,
        "model": matrix.model,
        "producer": {
            "tensorflow": matrix.tensorflow or None,
            "graph_def": matrix.graph_def,
            "min_consumer": matrix.min_consumer,
            "keras": matrix.keras or None,
            "lite": matrix.lite or None,
        },
        "signatures": matrix.signatures,
        "fetched": outputs_json(matrix.outputs),
        "strips": [strip_json(strip) for strip in matrix.strips],
    }


def strip_json(strip: Strip) -> dict[str, Any]:
    return {
        "package": strip.package,
        "device": strip.device,
        "loader": strip.loader,
        "signatures": list(strip.signatures),
        "releases": [
            {"release": cell.release, "target": cell.target.requirement, **_outcome(cell)}
            for cell in strip.cells
        ],
        "spans": [span_json(cell_range.cells) for cell_range in strip.ranges()],
    }


def span_json(cells: Sequence[MatrixCell]) -> dict[str, Any]:
    """Consecutive releases with the same outcome."""
    return {"first": cells[0].release, "last": cells[-1].release, **_outcome(cells[0])}


def _outcome(cell: MatrixCell) -> dict[str, Any]:
    return {
        "verdict": cell.verdict,
        "stage": cell.stage,
        "causes": [cause_json(cause) for cause in cell.causes],
    }


def cause_json(cause: Cause) -> dict[str, Any]:
    return {**cause.key._asdict(), "stage": cause.stage}
