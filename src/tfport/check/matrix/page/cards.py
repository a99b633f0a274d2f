"""The words behind each bar of the matrix: cards that bars share where they say the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from tfport.check.check import RUNS, UNKNOWN
from tfport.check.console import count
from tfport.check.findings.finding import CODES, LOAD, RUN, Finding, function_of
from tfport.check.matrix.matrix import CellRange, FindingKey, MatrixCell
from tfport.check.printable import printable

MOST_FINDINGS = MOST_NODES = 3
MOST_CAUSES = 12
MOST_TEXT = 700
MEANS = {RUNS: "runs", LOAD: "fails at load", RUN: "fails at run", UNKNOWN: "unknown"}


class Cards:
    """What has been said already, by its text."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of_thing(self, thing: FindingKey, does: str, stretch: CellRange) -> str:
        """The address of a card about what goes wrong; it quotes the newest release of the stretch."""
        cell = stretch.cells[-1]
        found = [f for f in cell.findings if (f.code, f.op, f.attr) == thing]
        head = f"<h3><code>{text(thing.about)}</code> {thing.code} {CODES[thing.code].name}</h3>"
        quoted = "" if len(stretch.cells) == 1 else f"; here as {text(cell.target.name)} has it"
        when = f'<p class="when">{stretch}: {MEANS[does]}{quoted}</p>'
        shown = "".join(map(_finding, found[:MOST_FINDINGS]))
        return self._add(does, head + when + shown + _left_out(len(found) - MOST_FINDINGS))

    def of_outcome(self, stretch: CellRange) -> str:
        """The address of a card about what some releases do."""
        last = stretch.cells[-1]
        items = [f"<li><code>{text(c.about)}</code> {c.code}, at {c.stage}</li>" for c in last.causes]
        why = f"<p>{text(last.target.name)}:</p><ul>{''.join(items[:MOST_CAUSES])}</ul>" if items else ""
        head = f"<h3>{stretch}: {MEANS[kind(last)]}</h3>"
        when = f'<p class="when">{count(len(stretch.cells), "recorded release")}</p>'
        return self._add(kind(last), head + when + why + _left_out(len(items) - MOST_CAUSES))

    def html(self) -> str:
        return "\n".join(
            f'<article id="c{number}" {body}</article>' for body, number in self._numbers.items()
        )

    def _add(self, kind: str, body: str) -> str:
        number = self._numbers.setdefault(f'class="{kind}">{body}', len(self._numbers))
        return f"#c{number}"


def text(words: str) -> str:
    """A stranger's text, for HTML."""
    return escape(printable(words))


def marked(words: str) -> str:
    """The same, with what stands between backticks as code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", text(words))


def kind(cell: MatrixCell) -> str:
    """What a release does in the end, as a key of `MEANS` and the class of a bar."""
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
    """TensorFlow's own text, with its lines."""
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
