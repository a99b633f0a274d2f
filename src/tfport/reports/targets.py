"""The recorded builds, one target in full, and the differences between two targets as text.

The differences also as JSON: the contract of `tfport targets diff --json`, version 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tfport.atlas.atlas import ARM
from tfport.atlas.diff import KernelChange, RegistryDiff
from tfport.atlas.kernel_history import kernel_text, merged
from tfport.atlas.lite.releases import LiteRegistry
from tfport.atlas.summaries import Overview, Package, Release, SourceSummary, TargetSummary
from tfport.reports import build_facts
from tfport.reports.build_facts import flat
from tfport.reports.console import INDENT, columns, facts, flowing, indented, more, title
from tfport.reports.layout import ReportPart
from tfport.reports.ops import kernel_json
from tfport.words import count

VERSION = 1
MOST_ROWS = 20
MOST_NAMES = 60
HIDDEN = ("build_info", "built", "compiler", "git", "requires", "tensorflow", "uploaded", "cuda mentioned")
"""Facts that differ in every release and explain nothing; `--all` and JSON include them."""


def render_overview(overview: Overview, width: int, *, everything: bool) -> Iterator[ReportPart]:
    """The releases of TensorFlow, then the other packages with one line each."""
    others = [package for package in overview.packages if not package.is_tensorflow]
    for package in overview.packages:
        if package.is_tensorflow or everything:
            yield from _releases(package, width, everything=everything)
    if others and not everything:
        yield title("other packages with ops")
        yield columns(map(_line, others), width, head=("package", "recorded", "", "ops"), right=1)
    yield title("for Keras files")
    yield columns(map(_version_line, overview.keras.items()), width, head=("package", "recorded", ""))
    yield title("for TensorFlow Lite files")
    yield columns(map(_version_line, overview.lite.items()), width, head=("package", "recorded", ""))
    if not everything:
        yield title("", "Newest patch of each release; --all lists every patch.")


def _releases(package: Package, width: int, *, everything: bool) -> Iterator[ReportPart]:
    shown = package.releases if everything else package.newest_patches()
    yield title(_name(package), f"{count(len(package.releases), 'build')}, {_range(package)}")
    head = ("release", *build_facts.HEAD, "ops", "kernels")
    yield columns(map(_row, shown), width, head=head, gap=1, right=3)


def _row(release: Release) -> tuple[str, ...]:
    build = release.build
    return build.version, *build_facts.cells(build.facts), str(release.ops), str(release.kernels or "")


def _name(package: Package) -> str:
    return f"{package.name} ({ARM})" if package.is_for_arm else package.name


def _range(package: Package) -> str:
    versions = list(dict.fromkeys(release.build.version for release in package.releases))
    return versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}"


def _line(package: Package) -> tuple[str, ...]:
    newest = package.releases[-1]
    return _name(package), count(len(package.releases), "build"), _range(package), str(newest.ops)


def _version_line(entry: tuple[str, list[str]]) -> tuple[str, ...]:
    package, versions = entry
    return package, count(len(versions), "release"), f"{versions[0]} to {versions[-1]}"


def render_target(target: TargetSummary, width: int) -> Iterator[ReportPart]:
    """A target with all its parts."""
    yield title(target.name, count(target.ops, "op") if target.parts else "")
    if target.notes:
        yield facts([("note", [note]) for note in target.notes], width)
    for part in target.parts:
        if len(target.parts) > 1:
            yield title(part.name)
        yield facts(_rows(part), width)
    if target.lite is not None:
        yield title("TensorFlow Lite", target.lite.name)
        yield facts(_lite_rows(target.lite), width)


def _lite_rows(registry: LiteRegistry) -> Iterator[tuple[str, list[str]]]:
    """What an interpreter registers."""
    pairs = sum(len(versions) for versions in registry.ops.values() if versions)
    yield "builtin ops", [f"{len(registry.ops)} in {count(pairs, 'version')}"]
    yield "custom ops", sorted(registry.custom_ops) or ["none"]
    yield "delegates", sorted(registry.delegates) or ["none by default"]
    yield "XNNPACK only", sorted(registry.delegated)


def _rows(part: SourceSummary) -> Iterator[tuple[str, list[str]]]:
    if part.build:
        yield "wheel", [part.build.wheel]
        yield "SHA-256", [part.build.sha256]
        yield from build_facts.rows(part.build.facts)
    yield "ops", [f"{part.ops:,}"]
    yield "kernels", [f"{device} {n:,}" for device, n in part.kernels.items()] or ["none recorded"]
    yield "on import", [f"{library} {n}" for library, n in part.libraries.items()]


def render_diff(diff: RegistryDiff, width: int, *, everything: bool) -> Iterator[ReportPart]:
    """The ops, kernels and build facts that differ."""
    most = 1 << 30 if everything else 0
    yield title(f"{diff.before} → {diff.after}")
    yield facts(_change_counts(diff), width)
    yield from _op_names("added ops", diff.added, most or MOST_NAMES, width)
    yield from _op_names("removed ops", diff.removed, most or MOST_NAMES, width)
    if diff.changed:
        yield title("changed ops")
        rows = [(op, "\n".join(changes)) for op, changes in diff.changed.items()]
        yield from _first_rows(rows, most or MOST_ROWS, width)
    if diff.kernels:
        yield title("kernels", "of ops in both")
        yield from _kernel_changes(diff.kernels, most or MOST_ROWS, width)
    yield from _fact_changes(diff, width, everything=everything)


def _change_counts(diff: RegistryDiff) -> Iterator[tuple[str, list[str]]]:
    yield "ops", [f"{len(diff.added)} added", f"{len(diff.removed)} removed", f"{len(diff.changed)} changed"]
    if diff.kernels_missing:
        yield "kernels", [f"not recorded for {name}" for name in diff.kernels_missing]
    added, removed = Counter[str](), Counter[str]()
    for change in diff.kernels:
        added[change.device] += len(change.added)
        removed[change.device] += len(change.removed)
    for device in sorted(added.keys() | removed.keys()):
        yield device, [f"{count(added[device], 'kernel')} added", f"{removed[device]:,} removed"]


def _op_names(heading: str, names: list[str], most: int, width: int) -> Iterator[ReportPart]:
    if names:
        yield title(heading)
        yield indented(flowing(names[:most], width - INDENT))
        yield from map(indented, more(len(names) - most))


def _first_rows(rows: Sequence[tuple[str, ...]], most: int, width: int) -> Iterator[ReportPart]:
    yield columns(rows[:most], width)
    yield from map(indented, more(len(rows) - most))


def _kernel_changes(changes: list[KernelChange], most: int, width: int) -> Iterator[ReportPart]:
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


def _fact_changes(diff: RegistryDiff, width: int, *, everything: bool) -> Iterator[ReportPart]:
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


def diff_json(diff: RegistryDiff) -> dict[str, Any]:
    return {
        "version": VERSION,
        "before": diff.before,
        "after": diff.after,
        "ops": {"came": diff.added, "went": diff.removed, "changed": diff.changed},
        "kernels": [
            {
                "op": change.op,
                "device": change.device,
                "came": [kernel_json(kernel) for kernel in change.added],
                "went": [kernel_json(kernel) for kernel in change.removed],
                "changed": [kernel_json(kernel) for kernel in change.changed],
            }
            for change in diff.kernels
        ],
        "kernels_missing": diff.kernels_missing,
        "facts": {name: {"before": before, "after": after} for name, (before, after) in diff.facts.items()},
    }
