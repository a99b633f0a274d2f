"""Explanations and pages of codes as text and as JSON: the contract of `tfport explain --json`, version 1."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tfport.explain.evidence import WeighedCause
from tfport.explain.explain import Explained, Explanation
from tfport.explain.messages import HARMLESS
from tfport.rendering import json_of
from tfport.reports.console import GAP, INDENT, columns, cut_off, indented, text_of, title
from tfport.reports.layout import Grid, Group, ReportPart, Text
from tfport.words import count, printable

if TYPE_CHECKING:
    from tfport.explain.code import CodePage
    from tfport.explain.model import AffectedNode, AffectedNodes


VERSION = 1
LONGEST_QUOTE = 160
LABEL = len("means")


@text_of(Explained)
def explained_text(explained: Explained, width: int) -> Iterator[ReportPart]:
    """Render all explanations, or the nearest known message if nothing was recognized."""
    for explanation in explained.explanations:
        yield from _explanation(explanation, explained, width)
    if explained.more:
        yield title("", f"{count(explained.more, 'further message')} not shown.")
    if explained.is_cut:
        yield title("", "The text is too long; its end was not read.")
    if explained.out_of_scope:
        yield Text("\nout of scope", style="bold")
        yield from _rows([("means", [explained.out_of_scope])], width)
    elif not explained.explanations:
        yield Text("\nno known message was recognized", style="bold")
        near = [f"the nearest known message: {explained.nearest}"] if explained.nearest else []
        yield from _rows([("near", near), ("facts", explained.clues)], width)


def _explanation(explanation: Explanation, explained: Explained, width: int) -> Iterator[ReportPart]:
    times = f"{explanation.count:,} times" if explanation.count > 1 else ""
    kind = HARMLESS if explanation.kind == HARMLESS else ""
    note = ", ".join(filter(None, (explanation.code, kind, times)))
    yield title(explanation.name, note)
    rows: list[tuple[str, list[str]]] = [
        ("quote", [cut_off(explanation.quote, LONGEST_QUOTE)]),
        ("means", explanation.means),
        ("cause", list(_causes(explanation.causes))),
        ("why", [why for cause in explanation.causes if cause.named for why in cause.evidence]),
        ("fix", explanation.ways_out),
        ("on", explanation.on_target),
    ]
    if explanation.affected is not None:
        rows.append(("model", list(_affected(explanation.affected, explained.model or ""))))
    yield from _rows(rows, width)


def _causes(causes: list[WeighedCause]) -> Iterator[str]:
    """The named cause, or the possible ones with what tells them apart."""
    possible = [cause for cause in causes if not cause.named]
    yield from (cause.means for cause in causes if cause.named)
    if possible:
        yield "One of these:" if len(possible) > 1 else "Possibly this:"
    for number, cause in enumerate(possible, start=1):
        yield f"{number}. {cause.means}"
        yield from (f"   {what}" for what in _about(cause))


def _about(cause: WeighedCause) -> Iterator[str]:
    if cause.evidence:
        yield f"for it: {'; '.join(cause.evidence)}"
    if cause.check:
        yield f"check: {cause.check}"
    yield from (f"fix: {way}" for way in cause.ways_out)


def _affected(affected: AffectedNodes, model: str) -> Iterator[str]:
    if not affected.count:
        yield f"no node of {model} matches: the message is about another model"
        return
    yield f"{count(affected.count, 'node')} of {model}"
    yield from map(_node_text, affected.examples)
    yield from affected.predicted


def _node_text(node: AffectedNode) -> str:
    runs = [f"run by {', '.join(node.signatures)}"] if node.signatures else []
    runs += ["run while loading"] if node.loading else []
    inside = f" in function {node.function}" if node.function else ""
    return f"{node.node} ({node.op}){inside}: {' and '.join(runs) or 'run by no signature'}"


def _rows(rows: Iterable[tuple[str, list[str]]], width: int) -> Iterator[ReportPart]:
    """Labels with sentences beside them, each sentence on a new line."""
    grid = Grid(gap=GAP)
    grid.add_column(no_wrap=True, min_width=LABEL)
    grid.add_column(overflow="fold")
    for name, sentences in rows:
        for i, sentence in enumerate(sentences):
            grid.add_row(
                Text("" if i else name, style="dim"), _wrapped(sentence, width - INDENT - LABEL - GAP)
            )
    yield indented(grid)


def _wrapped(sentence: str, width: int) -> Text:
    """Wrap a sentence, with further lines indented."""
    text = printable(sentence)
    own = text[: len(text) - len(text.lstrip())]
    lines = textwrap.wrap(
        text.lstrip(), width, initial_indent=own, subsequent_indent=f"{own}  ", break_on_hyphens=False
    )
    return Text("\n".join(lines))


def page(code: CodePage, width: int) -> Iterator[ReportPart]:
    """Render the page of a code."""
    yield title(f"{code.code} {code.name}", code.severity)
    yield indented(Text(code.title))
    for name, text in code.sections.items():
        yield title(name)
        yield indented(Group(*_paragraphs(text, width - INDENT)))


def _paragraphs(text: str, width: int) -> Iterator[Text]:
    """Wrap paragraphs; keep indented lines as they are."""
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


def code_list(codes: list[CodePage], width: int) -> Iterator[ReportPart]:
    """Render the list of all codes with their titles."""
    yield title("codes", "`tfport explain CODE` shows the page of a code")
    yield columns(((code.code, code.name, code.title) for code in codes), width)


@json_of(Explained)
def explained_json(explained: Explained) -> dict[str, Any]:
    return {
        "version": VERSION,
        "target": explained.target,
        "model": explained.model,
        "explanations": [explanation_json(explanation) for explanation in explained.explanations],
        "more": explained.more,
        "cut": explained.is_cut,
        "nearest": explained.nearest,
        "out_of_scope": explained.out_of_scope,
        "clues": explained.clues,
    }


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    record = asdict(explanation)
    affected = record.pop("affected")
    del record["links"]
    if affected is not None:
        affected["foretold"] = affected.pop("predicted")
    record["model"] = affected
    return record


def codes_json(codes: list[CodePage]) -> dict[str, Any]:
    """The pages of codes."""
    return {"version": VERSION, "codes": [asdict(code) for code in codes]}
