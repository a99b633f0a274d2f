"""The cards of the matrix page: the explanation of each bar; bars with equal text share a card."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from tfport.check.check import RUNS, UNKNOWN
from tfport.check.console import count
from tfport.check.findings.finding import LOAD, RUN, Finding, function_of, name_of
from tfport.check.matrix.matrix import CellRange, FindingKey, MatrixCell
from tfport.check.printable import printable

MOST_FINDINGS = MOST_NODES = 3
MOST_CAUSES = 12
MOST_TEXT = 700
MEANS = {RUNS: "runs", LOAD: "fails at load", RUN: "fails at run", UNKNOWN: "unknown"}


class Cards:
    """All cards so far, by their text."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of_finding(self, key: FindingKey, outcome: str, cell_range: CellRange) -> str:
        """The link to a card about a finding, quoted from the newest release of the range."""
        cell = cell_range.cells[-1]
        findings = [f for f in cell.findings if (f.code, f.op, f.attr) == key]
        head = f"<h3><code>{text(key.subject)}</code> {key.code} {name_of(key.code)}</h3>"
        quoted = "" if len(cell_range.cells) == 1 else f"; details from {text(cell.target.name)}"
        when = f'<p class="when">{cell_range}: {MEANS[outcome]}{quoted}</p>'
        shown = "".join(map(_finding, findings[:MOST_FINDINGS]))
        return self._add(outcome, head + when + shown + _left_out(len(findings) - MOST_FINDINGS))

    def of_outcome(self, cell_range: CellRange) -> str:
        """The link to a card about the outcome of some releases."""
        last = cell_range.cells[-1]
        items = [f"<li><code>{text(c.subject)}</code> {c.code}, at {c.stage}</li>" for c in last.causes]
        why = f"<p>{text(last.target.name)}:</p><ul>{''.join(items[:MOST_CAUSES])}</ul>" if items else ""
        head = f"<h3>{cell_range}: {MEANS[kind(last)]}</h3>"
        when = f'<p class="when">{count(len(cell_range.cells), "recorded release")}</p>'
        return self._add(kind(last), head + when + why + _left_out(len(items) - MOST_CAUSES))

    def html(self) -> str:
        return "\n".join(
            f'<article id="c{number}" {body}</article>' for body, number in self._numbers.items()
        )

    def _add(self, kind: str, body: str) -> str:
        number = self._numbers.setdefault(f'class="{kind}">{body}', len(self._numbers))
        return f"#c{number}"


def text(words: str) -> str:
    """Escape text for HTML."""
    return escape(printable(words))


def marked(words: str) -> str:
    """Escape text, with `code` marked up."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", text(words))


def kind(cell: MatrixCell) -> str:
    """The outcome of a release, as a key of `MEANS` and the CSS class of a bar."""
    return cell.stage or cell.verdict


def _finding(finding: Finding) -> str:
    rows = "".join(f"<dt>{name}</dt><dd>{body}</dd>" for name, body in _rows(finding) if body)
    return f"<p>{marked(finding.message)}</p><dl>{rows}</dl>"


def _rows(finding: Finding) -> Iterator[tuple[str, str]]:
    yield "cause", marked(finding.cause())
    yield "doubt", marked(finding.doubt)
    yield "TensorFlow says", _quoted(finding.says() or "")
    yield "what to do", _listed([*finding.fixes(), *finding.ways_out])
    yield "where", ", ".join(_nodes(finding))


def _quoted(words: str) -> str:
    """TensorFlow's own message, with its line breaks."""
    shown = words if len(words) <= MOST_TEXT else f"{words[:MOST_TEXT]} …"
    lines = "\n".join(map(text, shown.splitlines()))
    return f"<pre>{lines}</pre>" if lines else ""


def _listed(items: Iterable[str]) -> str:
    shown = "".join(f"<li>{marked(item)}</li>" for item in items)
    return f"<ul>{shown}</ul>" if shown else ""


def _nodes(finding: Finding) -> Iterator[str]:
    for node in finding.nodes[:MOST_NODES]:
        function = function_of(node)
        yield f"<code>{text(node.name)}</code>" + (f" in {text(function)}" if function else "")
    if (left_out := len(finding.nodes) - MOST_NODES) > 0:
        yield f"{left_out:,} more"


def _left_out(number: int) -> str:
    return f'<p class="more">… {number:,} more</p>' if number > 0 else ""
