"""Words that the text, Markdown and JUnit forms of a report share."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tfport.check.check import FAILS, RUNS, UNKNOWN, Result
from tfport.check.findings.finding import LOAD, RUN
from tfport.graph.node import Node

WHEN = {LOAD: "at load", RUN: "at run", None: "never"}
MOST_SAID = 150
_ASIDE = re.compile(r"(?<=\.)\s|\n|; NodeDef|; signature=|\. NodeDef")
"""Where TensorFlow's text goes on to what the report shows otherwise, or to what matters to nobody."""


def verdict_text(result: Result) -> str:
    """`fails at load`."""
    return f"{result.verdict} {WHEN[result.stage]}" if result.stage else result.verdict


def shortened_message(text: str) -> str:
    """What TensorFlow says, as far as it tells more than the report does."""
    end = _ASIDE.search(text)
    shown = f"{text[: end.start()]} …" if end else text
    return shown if len(shown) <= MOST_SAID else shown[: MOST_SAID - 1] + "…"


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
    """`3 models: 2 run, 1 cannot be read`; None stands for those."""
    kinds = {RUNS: "run", FAILS: "fail", UNKNOWN: "unknown", None: "cannot be read"}
    if len(verdicts) == 1:
        return verdicts[0] or kinds[None]
    counts = [f"{n:,} {kind}" for verdict, kind in kinds.items() if (n := verdicts.count(verdict))]
    return f"{len(verdicts):,} models: {', '.join(counts)}"
