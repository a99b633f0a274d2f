"""What differs between two targets, as a person reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType

from tfport.atlas.diff import KernelChange, RegistryDiff
from tfport.atlas.kernel_text import kernel_text, merged
from tfport.check.console import INDENT, columns, count, facts, flowing, indented, more, title
from tfport.cli.targets.build_facts import flat

MOST_ROWS = 20
MOST_NAMES = 60
UNSAID = ("build_info", "built", "compiler", "git", "requires", "tensorflow", "uploaded", "cuda mentioned")
"""Facts that differ in every release and tell nobody anything; `--all` and JSON have them."""


def differences(diff: RegistryDiff, width: int, *, everything: bool) -> Iterator[RenderableType]:
    """Ops, kernels and build facts that are not the same."""
    most = 1 << 30 if everything else 0
    yield title(f"{diff.before} → {diff.after}")
    yield facts(_counts(diff), width)
    yield from _names("ops that came", diff.came, most or MOST_NAMES, width)
    yield from _names("ops that went", diff.went, most or MOST_NAMES, width)
    if diff.changed:
        yield title("ops that changed")
        rows = [(op, "\n".join(changes)) for op, changes in diff.changed.items()]
        yield from _cut(rows, most or MOST_ROWS, width)
    if diff.kernels:
        yield title("kernels", "of ops that both have")
        yield from _kernels(diff.kernels, most or MOST_ROWS, width)
    yield from _facts(diff, width, everything=everything)


def _counts(diff: RegistryDiff) -> Iterator[tuple[str, list[str]]]:
    yield "ops", [f"{len(diff.came)} came", f"{len(diff.went)} went", f"{len(diff.changed)} changed"]
    if diff.kernels_missing:
        yield "kernels", [f"not recorded of {name}" for name in diff.kernels_missing]
    came, went = Counter[str](), Counter[str]()
    for change in diff.kernels:
        came[change.device] += len(change.came)
        went[change.device] += len(change.went)
    for device in sorted(came.keys() | went.keys()):
        yield device, [f"{count(came[device], 'kernel')} came", f"{went[device]:,} went"]


def _names(what: str, names: list[str], most: int, width: int) -> Iterator[RenderableType]:
    if names:
        yield title(what)
        yield indented(flowing(names[:most], width - INDENT))
        yield from map(indented, more(len(names) - most))


def _cut(rows: Sequence[tuple[str, ...]], most: int, width: int) -> Iterator[RenderableType]:
    yield columns(rows[:most], width)
    yield from map(indented, more(len(rows) - most))


def _kernels(changes: list[KernelChange], most: int, width: int) -> Iterator[RenderableType]:
    rows = [
        (change, sign, kernels)
        for change in changes
        for sign, kernels in (("+", change.came), ("-", change.went), ("~", change.changed))
        if kernels
    ]
    yield columns(
        ((c.op, c.device, sign, "\n".join(map(kernel_text, merged(ks)))) for c, sign, ks in rows[:most]),
        width,
    )
    yield from map(indented, more(len(rows) - most))


def _facts(diff: RegistryDiff, width: int, *, everything: bool) -> Iterator[RenderableType]:
    before = flat({name: pair[0] for name, pair in diff.facts.items()})
    after = flat({name: pair[1] for name, pair in diff.facts.items()})
    names = [name for name in before | after if everything or not name.startswith(UNSAID)]
    pairs = [(name, _fact(before.get(name)), _fact(after.get(name))) for name in names]
    rows = [(name, f"{here} → {there}") for name, here, there in pairs if here != there]
    if rows:
        yield title("build")
        yield columns(rows, width)


def _fact(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
