"""The Markdown report format, for comments and step summaries on GitHub: a table and folded details."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from tfport.check.check import FAILS, RUNS, UNKNOWN, Result
from tfport.check.check_report import CheckReport
from tfport.check.findings.finding import ERROR, NOTE
from tfport.graph.text import node_text
from tfport.reports.check.formats import ReportFormat, report_format
from tfport.reports.check.phrases import (
    GroupedFinding,
    grouped_findings,
    names_of,
    nodes_text,
    shortened_message,
    signatures_text,
    summary,
    targets_of,
    verdict_text,
)
from tfport.startup.dataclass import dataclass
from tfport.words import printable

UNREAD = "⚠️"
SIGNS = {RUNS: "✅", FAILS: "❌", UNKNOWN: "❔"}
MOST_NODES = 8
MOST_CODES = 4
MOST_DETAILS = 50
HEAD = "| model | target | verdict | loaders | findings |\n|---|---|---|---|---|"
_CODE = re.compile(r"`([^`]*)`")
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~<>&])")


@dataclass(frozen=True)
class MarkdownPart:
    """One model: its rows of the table, and its folded details."""

    verdict: str | None
    """None if the model cannot be read."""
    rows: tuple[str, ...]
    details: tuple[str, ...] = ()


def part(report: CheckReport) -> MarkdownPart:
    groups = [group for group in grouped_findings(report) if group.severity != NOTE]
    details = tuple(_details(report.model, group) for group in groups)
    return MarkdownPart(report.verdict, tuple(_rows(report)), details)


def _rows(report: CheckReport) -> Iterator[str]:
    """A row for each group of targets with the same result."""
    groups: dict[tuple[object, ...], list[Result]] = {}
    for result in report.results:
        groups.setdefault((verdict_text(result), result.loaders, *_codes(result)), []).append(result)
    for results in groups.values():
        first = results[0]
        yield _row(
            code(report.model),
            escaped(names_of([result.target for result in results], targets_of(report))),
            f"{SIGNS[first.verdict]} {verdict_text(first)}",
            ", ".join(first.loaders),
            _some(_codes(first)),
        )


def _codes(result: Result) -> list[str]:
    """The codes of the errors, each with its op."""
    errors = (finding for finding in result.findings if finding.severity == ERROR)
    return list(dict.fromkeys(f"{finding.code} {finding.op or ''}".strip() for finding in errors))


def _some(codes: Sequence[str]) -> str:
    more = [f"{len(codes) - MOST_CODES} more"] if len(codes) > MOST_CODES else []
    return ", ".join([*map(code, codes[:MOST_CODES]), *more])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def unreadable(model: str, why: str) -> MarkdownPart:
    return MarkdownPart(None, (_row(code(model), "", f"{UNREAD} cannot be read", "", escaped(why)),))


def whole(parts: Sequence[MarkdownPart]) -> str:
    rows = [row for part in parts for row in part.rows]
    details = [text for part in parts for text in part.details]
    left_out = len(details) - MOST_DETAILS
    more = [f"… and {left_out:,} more findings; `tfport check` prints them all"] if left_out > 0 else []
    table = "\n".join([HEAD, *rows])
    return (
        "\n\n".join(
            [
                f"### tfport check: {summary([part.verdict for part in parts])}",
                table,
                *details[:MOST_DETAILS],
                *more,
            ]
        )
        + "\n"
    )


def _details(model: str, group: GroupedFinding) -> str:
    nodes = group.finding.nodes
    lines = [f"- in {code(model)}" + (f": {code(node_text(nodes[0]))}" if nodes else "")]
    lines += [f"- {escaped(nodes_text(nodes, MOST_NODES))}"] if len(nodes) > 1 else []
    lines += [f"- stops {escaped(signatures_text(group.signatures))}"] if group.signatures else []
    lines += [f"- cause: {escaped(group.cause)}"] if group.cause else []
    lines += [f"- doubt: {escaped(group.finding.doubt)}"] if group.finding.doubt else []
    message = group.finding.tensorflow_says
    lines += [f"- TensorFlow says: {code(shortened_message(message))}"] if message else []
    lines += [f"- fix: {escaped(fix)}" for fix in group.fixes()]
    text = html.escape(printable(f"{group.severity}[{group.finding.code}]: {group.message}"))
    head = _CODE.sub(r"<code>\1</code>", text)
    return "\n".join([f"<details><summary>{head}</summary>", "", *lines, "", "</details>"])


def escaped(text: str) -> str:
    """Escape Markdown in a text, except `code`."""
    pieces = _CODE.split(printable(text))  # every second piece is code
    return "".join(code(piece) if i % 2 else _SPECIAL.sub(r"\\\1", piece) for i, piece in enumerate(pieces))


def code(text: str) -> str:
    """A code span, valid in tables too; backticks are replaced."""
    return f"`{printable(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`"


@report_format("markdown")
class MarkdownFormat(ReportFormat):
    """GitHub-flavored Markdown."""

    def part(self, report: CheckReport) -> MarkdownPart:
        return part(report)

    def unreadable(self, model: str, why: str) -> MarkdownPart:
        return unreadable(model, why)

    def whole(self, parts: Sequence[MarkdownPart]) -> str:
        return whole(parts)
