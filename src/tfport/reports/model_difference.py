"""The difference of two models as text and as JSON: the contract of `tfport diff --json`, version 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tfport.inspection.model_difference import (
    ADDED,
    CHANGED,
    GONE,
    RENAMED,
    ComparedGraph,
    ModelDifference,
    PartDifference,
)
from tfport.rendering import json_of
from tfport.reports.console import columns, indented, text_of, title
from tfport.reports.layout import ReportPart, Text
from tfport.words import count, printable

VERSION = 1
MOST_ROWS = 20
MARKS = {ADDED: "+", GONE: "-", CHANGED: "~", RENAMED: "="}
NO_DIFFERENCE = "the models are equal"


@text_of(ModelDifference)
def difference_text(
    difference: ModelDifference, width: int, *, everything: bool = False
) -> Iterator[ReportPart]:
    """A section for each part that differs, then what is equal."""
    most = None if everything else MOST_ROWS
    yield title(f"{difference.a} → {difference.b}")
    if difference.is_equal:
        yield indented(Text(NO_DIFFERENCE, style="green"))
    sections = [
        ("metadata", difference.metadata),
        ("signatures", difference.signatures),
        ("ops", difference.ops),
        ("functions", difference.functions),
        ("weights", difference.weights),
    ]
    for name, parts in sections:
        if parts:
            yield from _section(name, [(MARKS[p.kind], p.name, p.what) for p in parts], width, most)
    for graph in difference.graphs:
        if rows := _graph_rows(graph):
            note = graph_summary(graph)
            yield from _section(f"graph {graph.a}".rstrip(), rows, width, most, note)
    yield title("", _same(difference))


def _section(
    name: str, rows: Sequence[tuple[str, str, str]], width: int, most: int | None, note: str = ""
) -> Iterator[ReportPart]:
    yield title(name, note or _counts([mark for mark, *_ in rows]))
    shown = rows if most is None else rows[:most]
    yield indented(columns((tuple(map(printable, row)) for row in shown), width))
    if len(rows) > len(shown):
        yield indented(Text(f"… {len(rows) - len(shown):,} more: --all shows them", style="dim"))


def _counts(marks: Sequence[str]) -> str:
    words = {mark: kind for kind, mark in MARKS.items()}
    numbers = {mark: marks.count(mark) for mark in dict.fromkeys(marks)}
    return ", ".join(f"{number:,} {words[mark]}" for mark, number in numbers.items())


def _graph_rows(graph: ComparedGraph) -> list[tuple[str, str, str]]:
    """What changed first; nodes that only have another name are counted, not listed."""
    difference = graph.difference
    changed = [
        (MARKS[CHANGED], a if a == b else f"{a}, now {b}", "; ".join(what))
        for a, b, what in difference.changed
    ]
    gone = [(MARKS[GONE], name, "") for name in difference.gone]
    return changed + gone + [(MARKS[ADDED], name, "") for name in difference.added]


def graph_summary(graph: ComparedGraph) -> str:
    difference = graph.difference
    numbers = {
        CHANGED: len(difference.changed),
        GONE: len(difference.gone),
        ADDED: len(difference.added),
        RENAMED: len(difference.renamed),
        "equal": difference.same,
    }
    return ", ".join(f"{number:,} {kind}" for kind, number in numbers.items() if number)


def _same(difference: ModelDifference) -> str:
    """What is equal, in a sentence."""
    nodes = sum(g.difference.same + len(g.difference.renamed) for g in difference.graphs)
    renamed = sum(len(graph.difference.renamed) for graph in difference.graphs)
    parts = [count(nodes, "node") + (f" ({renamed:,} with another name)" if renamed else "")] if nodes else []
    parts += [count(difference.same_weights, "weight")] if difference.same_weights else []
    words = f"equal: {' and '.join(parts)}" if parts else "nothing else is equal"
    return f"graphs not compared: {difference.not_compared}" if difference.not_compared else words


@json_of(ModelDifference)
def difference_json(difference: ModelDifference) -> dict[str, Any]:
    return {
        "version": VERSION,
        "a": difference.a,
        "b": difference.b,
        "equal": difference.is_equal,
        "metadata": _parts_json(difference.metadata),
        "signatures": _parts_json(difference.signatures),
        "ops": _parts_json(difference.ops),
        "functions": _parts_json(difference.functions),
        "graphs": [
            {
                "a": g.a or None,
                "b": g.b or None,
                **{k: v for k, v in g.difference.to_json().items() if k != "version"},
            }
            for g in difference.graphs
        ],
        "weights": {"same": difference.same_weights, "differences": _parts_json(difference.weights)},
        "not_compared": difference.not_compared or None,
    }


def _parts_json(parts: Sequence[PartDifference]) -> list[dict[str, str]]:
    return [{"kind": part.kind, "name": part.name, "what": part.what} for part in parts]
