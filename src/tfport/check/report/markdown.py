"""Reports as GitHub-flavoured Markdown, for a comment or a step's summary: a table, the details folded."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tfport.check.check import FAILS, RUNS, UNKNOWN, Result
from tfport.check.findings.finding import ERROR, NOTE
from tfport.check.printable import printable
from tfport.check.report.formats import ReportFormat, report_format
from tfport.check.report.grouping import GroupedFinding, grouped_findings, names_of, targets_of
from tfport.check.report.phrases import nodes_text, shortened_message, signatures_text, summary, verdict_text
from tfport.check.report.report import CheckReport
from tfport.graph.text import node_text

UNREAD = "⚠️"
SIGNS = {RUNS: "✅", FAILS: "❌", UNKNOWN: "❔"}
MOST_NODES = 8
MOST_TROUBLES = 4
MOST_DETAILS = 50
HEAD = "| model | target | verdict | loaders | findings |\n|---|---|---|---|---|"
_CODE = re.compile(r"`([^`]*)`")
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~<>&])")


@dataclass(frozen=True)
class MarkdownPart:
    """One model: its rows of the table, and what is folded below."""

    verdict: str | None
    """None where it cannot be read."""
    rows: tuple[str, ...]
    details: tuple[str, ...] = ()


def part(report: CheckReport) -> MarkdownPart:
    found = [one for one in grouped_findings(report) if one.severity != NOTE]
    details = tuple(_details(report.model, one) for one in found)
    return MarkdownPart(report.verdict, tuple(_rows(report)), details)


def _rows(report: CheckReport) -> Iterator[str]:
    """A row for the targets that do the same."""
    alike: dict[tuple[object, ...], list[Result]] = {}
    for result in report.results:
        alike.setdefault((verdict_text(result), result.loaders, *_troubles(result)), []).append(result)
    for results in alike.values():
        first = results[0]
        yield _row(
            code(report.model),
            escaped(names_of([result.target for result in results], targets_of(report))),
            f"{SIGNS[first.verdict]} {verdict_text(first)}",
            ", ".join(first.loaders),
            _some(_troubles(first)),
        )


def _troubles(result: Result) -> list[str]:
    """The codes that decide, each with its op."""
    grave = (finding for finding in result.findings if finding.severity == ERROR)
    return list(dict.fromkeys(f"{finding.code} {finding.op or ''}".strip() for finding in grave))


def _some(troubles: Sequence[str]) -> str:
    more = [f"{len(troubles) - MOST_TROUBLES} more"] if len(troubles) > MOST_TROUBLES else []
    return ", ".join([*map(code, troubles[:MOST_TROUBLES]), *more])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def unreadable(model: str, why: str) -> MarkdownPart:
    return MarkdownPart(None, (_row(code(model), "", f"{UNREAD} cannot be read", "", escaped(why)),))


def whole(parts: Sequence[MarkdownPart]) -> str:
    rows = [row for one in parts for row in one.rows]
    details = [text for one in parts for text in one.details]
    left_out = len(details) - MOST_DETAILS
    more = [f"… and {left_out:,} more findings; `tfport check` prints them all"] if left_out > 0 else []
    table = "\n".join([HEAD, *rows])
    return (
        "\n\n".join(
            [
                f"### tfport check: {summary([one.verdict for one in parts])}",
                table,
                *details[:MOST_DETAILS],
                *more,
            ]
        )
        + "\n"
    )


def _details(model: str, one: GroupedFinding) -> str:
    nodes = one.finding.nodes
    lines = [f"- in {code(model)}" + (f": {code(node_text(nodes[0]))}" if nodes else "")]
    lines += [f"- {escaped(nodes_text(nodes, MOST_NODES))}"] if len(nodes) > 1 else []
    lines += [f"- stops {escaped(signatures_text(one.signatures))}"] if one.signatures else []
    lines += [f"- cause: {escaped(one.cause)}"] if one.cause else []
    lines += [f"- doubt: {escaped(one.finding.doubt)}"] if one.finding.doubt else []
    said = one.finding.tensorflow_says
    lines += [f"- TensorFlow says: {code(shortened_message(said))}"] if said else []
    lines += [f"- fix: {escaped(fix)}" for fix in one.fixes()]
    text = html.escape(printable(f"{one.severity}[{one.finding.code}]: {one.message}"))
    head = _CODE.sub(r"<code>\1</code>", text)
    return "\n".join([f"<details><summary>{head}</summary>", "", *lines, "", "</details>"])


def escaped(text: str) -> str:
    """Text that means itself, but for the code that stands between backticks."""
    pieces = _CODE.split(printable(text))  # every second one is code
    return "".join(code(piece) if i % 2 else _SPECIAL.sub(r"\\\1", piece) for i, piece in enumerate(pieces))


def code(text: str) -> str:
    """A span of code, also in a table; backticks cannot be in it."""
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
