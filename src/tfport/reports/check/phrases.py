"""Phrases that the text, Markdown and JUnit report formats share."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.check.check import FAILS, RUNS, UNKNOWN, Result
from tfport.check.findings.finding import LOAD, RUN
from tfport.graph.graph import Node
from tfport.startup.late_pattern import late_pattern

WHEN = {LOAD: "at load", RUN: "at run", None: "never"}
LONGEST_MESSAGE = 150
_CONTINUATION = late_pattern(r"(?<=\.)\s|\n|; NodeDef|; signature=|\. NodeDef")
"""Where TensorFlow's message continues with details that the report omits or shows elsewhere."""


def verdict_text(result: Result) -> str:
    """`fails at load`."""
    return f"{result.verdict} {WHEN[result.stage]}" if result.stage else result.verdict


def shortened_message(text: str) -> str:
    """TensorFlow's message up to the first detail, shortened if it is long."""
    end = _CONTINUATION.search(text)
    shown = f"{text[: end.start()]} …" if end else text
    return shown if len(shown) <= LONGEST_MESSAGE else shown[: LONGEST_MESSAGE - 1] + "…"


def nodes_text(nodes: Sequence[Node], most: int) -> str:
    """`5 nodes: MatMul, MatMul_1, …`."""
    more = ["…"] if len(nodes) > most else []
    names = ", ".join([*(node.name for node in nodes[:most]), *more])
    return f"{len(nodes):,} nodes: {names}" if len(nodes) > 1 else f"node: {names}"


def signatures_text(signatures: Sequence[str], most: int = 2) -> str:
    """`predict, classify and 3 more`."""
    more = f" and {len(signatures) - most} more" if len(signatures) > most else ""
    return f"{', '.join(signatures[:most])}{more}"


def summary(verdicts: Sequence[str | None]) -> str:
    """`3 models: 2 run, 1 cannot be read`; None stands for unreadable models."""
    kinds = {RUNS: "run", FAILS: "fail", UNKNOWN: "unknown", None: "cannot be read"}
    if len(verdicts) == 1:
        return verdicts[0] or kinds[None]
    counts = [f"{n:,} {kind}" for verdict, kind in kinds.items() if (n := verdicts.count(verdict))]
    return f"{len(verdicts):,} models: {', '.join(counts)}"
