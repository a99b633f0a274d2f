"""Render the differences between two targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tfport.atlas.diff import KernelChange, RegistryDiff
from tfport.atlas.kernel_text import kernel_text, merged
from tfport.cli.targets.build_facts import flat
from tfport.reports.console import INDENT, columns, facts, flowing, indented, more, title
from tfport.reports.layout import ReportPart
from tfport.words import count

MOST_ROWS = 20
MOST_NAMES = 60
HIDDEN = ("build_info", "built", "compiler", "git", "requires", "tensorflow", "uploaded", "cuda mentioned")
"""Facts that differ in every release and explain nothing; `--all` and JSON include them."""


def render_diff(diff: RegistryDiff, width: int, *, everything: bool) -> Iterator[ReportPart]:
    """The ops, kernels and build facts that differ."""
    most = 1 << 30 if everything else 0
    yield title(f"{diff.before} → {diff.after}")
    yield facts(_counts(diff), width)
    yield from _names("added ops", diff.added, most or MOST_NAMES, width)
    yield from _names("removed ops", diff.removed, most or MOST_NAMES, width)
    if diff.changed:
        yield title("changed ops")
        rows = [(op, "\n".join(changes)) for op, changes in diff.changed.items()]
        yield from _rows(rows, most or MOST_ROWS, width)
    if diff.kernels:
        yield title("kernels", "of ops in both")
        yield from _kernels(diff.kernels, most or MOST_ROWS, width)
    yield from _facts(diff, width, everything=everything)


def _counts(diff: RegistryDiff) -> Iterator[tuple[str, list[str]]]:
    yield "ops", [f"{len(diff.added)} added", f"{len(diff.removed)} removed", f"{len(diff.changed)} changed"]
    if diff.kernels_missing:
        yield "kernels", [f"not recorded for {name}" for name in diff.kernels_missing]
    added, removed = Counter[str](), Counter[str]()
    for change in diff.kernels:
        added[change.device] += len(change.added)
        removed[change.device] += len(change.removed)
    for device in sorted(added.keys() | removed.keys()):
        yield device, [f"{count(added[device], 'kernel')} added", f"{removed[device]:,} removed"]


def _names(heading: str, names: list[str], most: int, width: int) -> Iterator[ReportPart]:
    if names:
        yield title(heading)
        yield indented(flowing(names[:most], width - INDENT))
        yield from map(indented, more(len(names) - most))


def _rows(rows: Sequence[tuple[str, ...]], most: int, width: int) -> Iterator[ReportPart]:
    yield columns(rows[:most], width)
    yield from map(indented, more(len(rows) - most))


def _kernels(changes: list[KernelChange], most: int, width: int) -> Iterator[ReportPart]:
    rows = [
        (change, sign, kernels)
        for change in changes
        for sign, kernels in (("+", change.added), ("-", change.removed), ("~", change.changed))
        if kernels
    ]
    yield columns(
        ((c.op, c.device, sign, "\n".join(map(kernel_text, merged(ks)))) for c, sign, ks in rows[:most]),
        width,
    )
    yield from map(indented, more(len(rows) - most))


def _facts(diff: RegistryDiff, width: int, *, everything: bool) -> Iterator[ReportPart]:
    before = flat({name: pair[0] for name, pair in diff.facts.items()})
    after = flat({name: pair[1] for name, pair in diff.facts.items()})
    names = [name for name in before | after if everything or not name.startswith(HIDDEN)]
    pairs = [(name, _fact_text(before.get(name)), _fact_text(after.get(name))) for name in names]
    rows = [(name, f"{old} → {new}") for name, old, new in pairs if old != new]
    if rows:
        yield title("build")
        yield columns(rows, width)


def _fact_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
