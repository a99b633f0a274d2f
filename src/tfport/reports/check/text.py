"""The text report format: a line for each target, then every finding once.

Of many models, those that run have one line each.

error[TFP101]: op `BatchMatMulV2` is not registered in tensorflow 1.13.2
  --> serving_default: MatMul = BatchMatMulV2(embedded, query) {T=float32}
  cause: registered since 1.14.0; tensorflow 1.13.2 has only BatchMatMul
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, ClassVar

from tfport.atlas.target import Target
from tfport.check.check import FAILS, RUNS, UNKNOWN, Result
from tfport.check.check_report import CheckReport
from tfport.check.findings.finding import ERROR, NOTE, WARNING, function_of
from tfport.graph.text import node_text
from tfport.rendering import TEXT, RenderedResult, rendered, renderer_of
from tfport.reports.check.formats import SCAN, ReportFormat, ReportLayout, report_format
from tfport.reports.check.phrases import (
    WHEN,
    GroupedFinding,
    grouped_findings,
    names_of,
    nodes_text,
    runs_of,
    scan_summary,
    shortened_message,
    signatures_text,
    summary,
    targets_of,
    verdict_text,
)
from tfport.reports.console import GAP, INDENT, colored, cut_off, indented, labeled, plain, text_of, title
from tfport.reports.layout import Grid, ReportPart, Text
from tfport.reports.outputs import outputs_sentence
from tfport.startup.dataclass import dataclass
from tfport.words import count, printable

STYLES = {RUNS: "green", FAILS: "bold red", UNKNOWN: "bold yellow"}
SEVERITIES = {ERROR: "bold red", WARNING: "bold yellow", NOTE: "bold cyan"}
MOST_NODES = 4
MOST_FIXES = 3
ARROW = "--> "
LABEL = len("cause: ")
VerdictRow = tuple[Sequence[Target], list[Text], Text]
"""Targets, a cell for each loader, and what stops the model."""


@text_of(CheckReport)
def report_text(report: CheckReport, width: int, *, everything: bool = False) -> Iterator[ReportPart]:
    """Render the whole report; long texts and lists are cut unless `everything` is set."""
    yield title(report.model, _origin(report))
    yield indented(_verdicts(report))
    yield from _remarks(report)
    groups = grouped_findings(report)
    for group in groups:
        if group.severity != NOTE:
            yield from _finding(group, width, several_stages=_several_stages(groups), everything=everything)
    notes = [group for group in groups if group.severity == NOTE]
    if notes:
        unneeded = all(group.finding.default_severity != NOTE for group in notes)
        asked = "requested signatures" if report.outputs is None else "outputs"
        yield title("notes", f"the {asked} do not need these" if unneeded else "")
        yield from (_note(group) for group in notes)


def line(report: CheckReport) -> Text:
    """One line for a model that runs on all targets."""
    notes = len([group for group in grouped_findings(report) if group.severity == NOTE])
    more = f" ({count(notes, 'note')})" if notes else ""
    targets = targets_of(report)
    where = f"on {names_of(targets, targets)}{more}"
    return Text.assemble(f"{printable(report.model)}  ", ("runs", STYLES[RUNS]), f" {printable(where)}")


def unreadable(model: str, why: str) -> Text:
    """A model that cannot be read."""
    rest = printable(why.removeprefix(model).lstrip("/:, "))
    return Text.assemble(f"{printable(model)}  ", ("cannot be read", STYLES[UNKNOWN]), f": {rest}")


def _origin(report: CheckReport) -> str:
    if report.keras:
        return f"Keras {report.keras}"
    if report.lite:
        return report.lite
    made_by = [f"TensorFlow {report.tensorflow}"] if report.tensorflow not in ("", "unknown") else []
    return ", ".join([*made_by, f"GraphDef {report.graph_def}"])


def _verdicts(report: CheckReport) -> ReportPart:
    """A line for each target, with a column for each loader if they differ."""
    by_target = {t: [r for r in report.results if r.target is t] for t in targets_of(report)}
    differ = any(len(results) > 1 for results in by_target.values())
    loaders = list(dict.fromkeys(name for result in report.results for name in result.loaders))
    grid = Grid(gap=GAP)
    grid.add_column(overflow="fold")
    for _ in loaders if differ else (1, 2):
        grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    if differ:
        grid.add_row("", *(Text(name, style="dim") for name in loaders), "")
    rows = [
        ([target], _cells(results, loaders if differ else ()), _stopped(results, report))
        for target, results in by_target.items()
    ]
    for targets, cells, stopped in _ranges(rows):
        grid.add_row(Text(_name(targets)), *cells, stopped)
    return grid


def _ranges(rows: Iterable[VerdictRow]) -> Iterator[VerdictRow]:
    """The rows, with one for consecutive releases that differ in nothing else."""
    for _, alike in groupby(rows, key=_without_release):
        targets, cells, stopped = zip(*alike, strict=True)
        order = [target for (target,) in targets]
        for run in runs_of(set(order), order):
            yield run, cells[0], stopped[0]


def _without_release(row: VerdictRow) -> tuple[str, str, list[Any]]:
    (target,), cells, stopped = row
    return target.name.rpartition(" ")[0], target.device, [cell.runs for cell in (*cells, stopped)]


def _name(targets: Sequence[Target]) -> str:
    name = names_of(targets, targets)
    return printable(f"{name} (gpu)" if targets[0].device == "gpu" else name)


def _cells(results: Sequence[Result], loaders: Iterable[str]) -> list[Text]:
    if not loaders:
        return [_verdict(results[0]), Text(", ".join(results[0].loaders), style="dim")]
    by_loader = {loader: result for result in results for loader in result.loaders}
    return [_verdict(by_loader[name]) if name in by_loader else Text("") for name in loaders]


def _verdict(result: Result) -> Text:
    return Text(verdict_text(result), style=STYLES[result.verdict])


def _stopped(results: Sequence[Result], report: CheckReport) -> Text:
    """The codes of the errors, and the signatures that they stop if others run."""
    errors = [f for result in results for f in result.findings if f.severity == ERROR]
    codes = ", ".join(dict.fromkeys(f.code for f in errors))
    stopped = sorted({name for f in errors for name in f.signatures})
    partly = f" in {', '.join(stopped)}" if 0 < len(stopped) < len(report.signatures) else ""
    return Text(printable(codes + partly))


def _remarks(report: CheckReport) -> Iterator[ReportPart]:
    """Which outputs were checked, and how the targets were resolved."""
    remarks = dict.fromkeys(note for target in targets_of(report) for note in target.notes)
    if report.outputs is not None:
        remarks = dict.fromkeys([outputs_sentence(report.outputs), *remarks])
    yield from (indented(Text(printable(note), style="dim")) for note in remarks)


def _several_stages(groups: Iterable[GroupedFinding]) -> bool:
    return len({stage for group in groups if group.severity != NOTE for stage in group.stages()}) > 1


def _finding(
    group: GroupedFinding, width: int, *, several_stages: bool, everything: bool
) -> Iterator[ReportPart]:
    head = f"{group.severity}[{group.finding.code}]"
    yield Text.assemble("\n", (head, SEVERITIES[group.severity]), (f": {printable(group.message)}", "bold"))
    for text in _where(group, width - INDENT - len(ARROW), everything=everything):
        yield indented(text)
    yield from labeled(_body(group, several_stages=several_stages, everything=everything), LABEL)


def _where(group: GroupedFinding, space: int, *, everything: bool) -> Iterator[Text]:
    """The first node, and the number of the others."""
    nodes = group.finding.nodes
    if not nodes:
        return
    stopped = f"{signatures_text(group.signatures)}: " if group.signatures else ""
    first = printable(stopped + node_text(nodes[0]))
    yield Text.assemble((ARROW, "blue"), first if everything else cut_off(first, space))
    function = function_of(nodes[0])
    inside = [f"in function {function}"] if function else []
    others = [nodes_text(nodes, len(nodes) if everything else MOST_NODES)] if len(nodes) > 1 else []
    if inside or others:
        rest = printable("; ".join(inside + others))
        yield Text(" " * len(ARROW) + (rest if everything else cut_off(rest, space)), style="dim")


def _body(group: GroupedFinding, *, several_stages: bool, everything: bool) -> Iterator[tuple[str, str]]:
    """The labeled lines."""
    if several_stages:
        yield (
            "when:",
            ", ".join(f"{WHEN[s]} in {' and '.join(loaders)}" for s, loaders in group.stages().items()),
        )
    if cause := group.cause:
        yield "cause:", cause
    if doubt := group.finding.doubt:
        yield "doubt:", doubt
    if message := group.finding.tensorflow_says:
        yield "says:", message if everything else shortened_message(message)
    fixes = list(group.fixes().items())
    for fix, where in fixes[: None if everything else MOST_FIXES]:
        only = f"on {names_of(where, group.order)}: " if len(where) < len(group.targets) else ""
        yield "fix:", only + fix
    if len(fixes) > MOST_FIXES and not everything:
        yield "", f"… {len(fixes) - MOST_FIXES} more; --all shows them"


def _note(group: GroupedFinding) -> ReportPart:
    code = (f"note[{group.finding.code}]", SEVERITIES[NOTE])
    nodes = f" ({count(len(group.finding.nodes), 'node')})" if group.finding.nodes else ""
    return indented(Text.assemble(code, f": {printable(group.message)}{nodes}"))


@dataclass(frozen=True)
class TextPart:
    """The text about one model."""

    outcome: str | None
    """The verdict of a check, or the severity of a scan."""
    rows: list[Any]
    is_line: bool = False
    is_read: bool = True


@renderer_of(CheckReport, TEXT)
def check_part(report: CheckReport, layout: ReportLayout) -> TextPart:
    """The text of a check of one model."""
    if layout.many and report.verdict == RUNS and not layout.everything:
        return TextPart(report.verdict, [line(report)], is_line=True)
    return TextPart(report.verdict, list(report_text(report, layout.width, everything=layout.everything)))


@report_format("text")
class TextFormat(ReportFormat):
    """Text for people."""

    always_many: ClassVar[bool] = False

    def part(self, report: RenderedResult) -> TextPart:
        part: TextPart = rendered(report, TEXT, self.layout)
        return part

    def unreadable(self, model: str, why: str) -> TextPart:
        return TextPart(None, [unreadable(model, why)], is_line=True, is_read=False)

    def whole(self, parts: Sequence[TextPart]) -> str:
        rows = list(_rows(parts))
        if len(parts) > 1:
            rows.append(f"\n{_summary(parts, self.layout.command)}")
        return colored(rows, self.layout.width) if self.layout.color else plain(lambda _: rows) + "\n"


def _rows(parts: Sequence[TextPart]) -> Iterator[Any]:
    for before, part in zip([None, *parts], parts, strict=False):
        if part.is_line and before and not before.is_line:
            yield ""
        yield from part.rows


def _summary(parts: Sequence[TextPart], command: str) -> str:
    if command == SCAN:
        return scan_summary([part.outcome for part in parts if part.is_read], len(parts))
    return summary([part.outcome for part in parts])
