"""Explanations, and the pages of codes, as a person reads them: at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from tfport.check.console import GAP, INDENT, columns, count, cut_off, indented, title
from tfport.check.explain.explain import Explained, Explanation
from tfport.check.explain.messages import HARMLESS
from tfport.check.printable import printable

if TYPE_CHECKING:
    from tfport.check.explain.code import CodePage
    from tfport.check.explain.model import AffectedNode, AffectedNodes

LONGEST_QUOTE = 160
LABEL = len("means")


def render(explained: Explained, width: int) -> Iterator[RenderableType]:
    """Everything that was recognised; or that nothing was, and what comes closest."""
    for explanation in explained.explanations:
        yield from _explanation(explanation, explained, width)
    if explained.more:
        yield title("", f"{count(explained.more, 'message')} of other kinds and names were left out.")
    if explained.is_cut:
        yield title("", "The text is too long: its end was not read.")
    if not explained.explanations:
        yield Text("\nnothing here is a message that tfport knows", style="bold")
        if explained.nearest:
            yield from _rows([("near", [f"the closest that it knows: {explained.nearest}"])], width)


def _explanation(explanation: Explanation, explained: Explained, width: int) -> Iterator[RenderableType]:
    times = f"{explanation.count:,} times" if explanation.count > 1 else ""
    grave = HARMLESS if explanation.kind == HARMLESS else ""
    note = ", ".join(filter(None, (explanation.code, grave, times)))
    yield title(explanation.name, note)
    rows: list[tuple[str, list[str]]] = [
        ("said", [cut_off(explanation.quote, LONGEST_QUOTE)]),
        ("means", explanation.means),
        ("do", explanation.ways_out),
        ("on", explanation.on_target),
    ]
    if explanation.concerned is not None:
        rows.append(("model", list(_concerned(explanation.concerned, explained.model or ""))))
    yield from _rows(rows, width)


def _concerned(concerned: AffectedNodes, model: str) -> Iterator[str]:
    if not concerned.count:
        yield f"nothing in {model} is named in it: the message is about another model"
        return
    yield f"{count(concerned.count, 'node')} of {model}"
    yield from map(_where, concerned.examples)
    yield from concerned.foretold


def _where(where: AffectedNode) -> str:
    runs = [f"run by {', '.join(where.signatures)}"] if where.signatures else []
    runs += ["run while loading"] if where.loading else []
    inside = f" in function {where.function}" if where.function else ""
    return f"{where.node} ({where.op}){inside}: {' and '.join(runs) or 'run by no signature'}"


def _rows(rows: Iterable[tuple[str, list[str]]], width: int) -> Iterator[RenderableType]:
    """Names with sentences beside them, each sentence beginning a line."""
    grid = Grid.grid(padding=(0, GAP))
    grid.add_column(no_wrap=True, min_width=LABEL)
    grid.add_column(overflow="fold")
    for name, sentences in rows:
        for i, sentence in enumerate(sentences):
            grid.add_row(
                Text("" if i else name, style="dim"), _wrapped(sentence, width - INDENT - LABEL - GAP)
            )
    yield indented(grid)


def _wrapped(sentence: str, width: int) -> Text:
    """A sentence whose further lines are set in."""
    lines = textwrap.wrap(printable(sentence), width, subsequent_indent="  ", break_on_hyphens=False)
    return Text("\n".join(lines))


def page(code: CodePage, width: int) -> Iterator[RenderableType]:
    """The page of a code."""
    yield title(f"{code.code} {code.name}", code.severity)
    yield indented(Text(code.title))
    for name, text in code.sections.items():
        yield title(name)
        yield indented(Group(*_paragraphs(text, width - INDENT)))


def _paragraphs(text: str, width: int) -> Iterator[Text]:
    """Running text filled anew, lines that are set in as they are."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("    ") or not line.strip():
            yield from _filled(lines, width)
            lines = []
            yield Text(line.removeprefix("    "))
        else:
            lines.append(line)
    yield from _filled(lines, width)


def _filled(lines: list[str], width: int) -> Iterator[Text]:
    if lines:
        yield Text(textwrap.fill(" ".join(lines), width))


def code_list(codes: list[CodePage], width: int) -> Iterator[RenderableType]:
    """All codes with their titles."""
    yield title("codes", "`tfport explain CODE` shows the page of one")
    yield columns(((code.code, code.name, code.title) for code in codes), width)
