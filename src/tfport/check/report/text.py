"""A report as a person reads it: a line for each target, then every finding once.

error[TFP101]: op `BatchMatMulV2` is not registered in tensorflow 1.13.2
  --> serving_default: MatMul = BatchMatMulV2(embedded, query) {T=float32}
  cause: registered since 1.14.0; tensorflow 1.13.2 has BatchMatMul only
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tfport.atlas.target import Target
from tfport.check.check import FAILS, RUNS, UNKNOWN, Result
from tfport.check.console import GAP, INDENT, count, cut_off, indented, title
from tfport.check.findings.finding import ERROR, NOTE, WARNING, function_of
from tfport.check.printable import printable
from tfport.check.report.grouping import GroupedFinding, grouped_findings, names_of, targets_of
from tfport.check.report.phrases import WHEN, nodes_text, shortened_message, signatures_text, verdict_text
from tfport.check.report.report import CheckReport
from tfport.graph.text import node_text

STYLES = {RUNS: "green", FAILS: "bold red", UNKNOWN: "bold yellow"}
SEVERITIES = {ERROR: "bold red", WARNING: "bold yellow", NOTE: "bold cyan"}
MOST_NODES = 4
MOST_FIXES = 3
ARROW = "--> "
_LABEL = len("cause: ")


def render(report: CheckReport, width: int, *, everything: bool = False) -> Iterator[RenderableType]:
    """The whole report; long texts and lists are cut unless `everything` is asked for."""
    yield title(report.model, _origin(report))
    yield indented(_verdicts(report))
    yield from _remarks(report)
    found = grouped_findings(report)
    for one in found:
        if one.severity != NOTE:
            yield from _finding(one, width, several_stages=_several_stages(found), everything=everything)
    notes = [one for one in found if one.severity == NOTE]
    if notes:
        unneeded = all(one.finding.usual != NOTE for one in notes)
        yield title("notes", "nothing that was asked for needs these" if unneeded else "")
        yield from (_note(one) for one in notes)


def line(report: CheckReport) -> Text:
    """A model that runs everywhere, among many models."""
    notes = len([one for one in grouped_findings(report) if one.severity == NOTE])
    more = f" ({count(notes, 'note')})" if notes else ""
    targets = targets_of(report)
    where = f"on {names_of(targets, targets)}{more}"
    return Text.assemble(f"{printable(report.model)}  ", ("runs", STYLES[RUNS]), f" {printable(where)}")


def unreadable(model: str, why: str) -> Text:
    """A model that cannot be read."""
    rest = printable(why.removeprefix(model).lstrip("/:, "))
    return Text.assemble(f"{printable(model)}  ", ("cannot be read", STYLES[UNKNOWN]), f": {rest}")


def _origin(report: CheckReport) -> str:
    made_by = [f"TensorFlow {report.tensorflow}"] if report.tensorflow not in ("", "unknown") else []
    return ", ".join([*made_by, f"GraphDef {report.graph_def}"])


def _verdicts(report: CheckReport) -> RenderableType:
    """A line for each target, with a column for each loader where they differ."""
    by_target = {t: [r for r in report.results if r.target is t] for t in targets_of(report)}
    apart = any(len(results) > 1 for results in by_target.values())
    loaders = list(dict.fromkeys(name for result in report.results for name in result.loaders))
    grid = Table.grid(padding=(0, GAP))
    grid.add_column(overflow="fold")
    for _ in loaders if apart else (1, 2):
        grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    if apart:
        grid.add_row("", *(Text(name, style="dim") for name in loaders), "")
    for target, results in by_target.items():
        grid.add_row(
            Text(_name(target)), *_cells(results, loaders if apart else ()), _stopped(results, report)
        )
    return grid


def _name(target: Target) -> str:
    return printable(f"{target.name} (gpu)" if target.device == "gpu" else target.name)


def _cells(results: Sequence[Result], loaders: Iterable[str]) -> list[Text]:
    if not loaders:
        return [_verdict(results[0]), Text(", ".join(results[0].loaders), style="dim")]
    by_loader = {loader: result for result in results for loader in result.loaders}
    return [_verdict(by_loader[name]) if name in by_loader else Text("") for name in loaders]


def _verdict(result: Result) -> Text:
    return Text(verdict_text(result), style=STYLES[result.verdict])


def _stopped(results: Sequence[Result], report: CheckReport) -> Text:
    """The codes that decide, and the signatures they stop where others run."""
    grave = [f for result in results for f in result.findings if f.severity == ERROR]
    codes = ", ".join(dict.fromkeys(f.code for f in grave))
    stopped = sorted({name for f in grave for name in f.signatures})
    partly = f" in {', '.join(stopped)}" if 0 < len(stopped) < len(report.signatures) else ""
    return Text(printable(codes + partly))


def _remarks(report: CheckReport) -> Iterator[RenderableType]:
    """What was derived about targets."""
    remarks = dict.fromkeys(note for target in targets_of(report) for note in target.notes)
    yield from (indented(Text(printable(note), style="dim")) for note in remarks)


def _several_stages(found: Iterable[GroupedFinding]) -> bool:
    return len({stage for one in found if one.severity != NOTE for stage in one.stages()}) > 1


def _finding(
    one: GroupedFinding, width: int, *, several_stages: bool, everything: bool
) -> Iterator[RenderableType]:
    head = f"{one.severity}[{one.finding.code}]"
    yield Text.assemble("\n", (head, SEVERITIES[one.severity]), (f": {printable(one.message)}", "bold"))
    for text in _where(one, width - INDENT - len(ARROW), everything=everything):
        yield indented(text)
    grid = Table.grid()
    grid.add_column(width=_LABEL, no_wrap=True)
    grid.add_column(overflow="fold")
    for label, said in _body(one, several_stages=several_stages, everything=everything):
        grid.add_row(Text(label, style="dim"), Text("\n".join(map(printable, said.split("\n")))))
    if grid.row_count:
        yield indented(grid)


def _where(one: GroupedFinding, room: int, *, everything: bool) -> Iterator[Text]:
    """The node, and how many others there are."""
    nodes = one.finding.nodes
    if not nodes:
        return
    stopped = f"{signatures_text(one.signatures)}: " if one.signatures else ""
    first = printable(stopped + node_text(nodes[0]))
    yield Text.assemble((ARROW, "blue"), first if everything else cut_off(first, room))
    function = function_of(nodes[0])
    inside = [f"in function {function}"] if function else []
    alike = [nodes_text(nodes, len(nodes) if everything else MOST_NODES)] if len(nodes) > 1 else []
    if inside or alike:
        rest = printable("; ".join(inside + alike))
        yield Text(" " * len(ARROW) + (rest if everything else cut_off(rest, room)), style="dim")


def _body(one: GroupedFinding, *, several_stages: bool, everything: bool) -> Iterator[tuple[str, str]]:
    """The labelled lines."""
    if several_stages:
        yield "when:", ", ".join(f"{WHEN[s]} in {' and '.join(who)}" for s, who in one.stages().items())
    if cause := one.cause:
        yield "cause:", cause
    if doubt := one.finding.doubt:
        yield "doubt:", doubt
    if said := one.finding.tensorflow_says:
        yield "says:", said if everything else shortened_message(said)
    fixes = list(one.fixes().items())
    for fix, where in fixes[: None if everything else MOST_FIXES]:
        only = f"on {names_of(where, one.order)}: " if len(where) < len(one.targets) else ""
        yield "fix:", only + fix
    if len(fixes) > MOST_FIXES and not everything:
        yield "", f"… {len(fixes) - MOST_FIXES} more; --all shows them"


def _note(one: GroupedFinding) -> RenderableType:
    code = (f"note[{one.finding.code}]", SEVERITIES[NOTE])
    nodes = f" ({count(len(one.finding.nodes), 'node')})" if one.finding.nodes else ""
    return indented(Text.assemble(code, f": {printable(one.message)}{nodes}"))
