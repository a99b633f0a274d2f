"""Which ops tfport runs, as text and JSON: `tfport ops --coverage` and `--package`, version 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfport.audit.coverage import Coverage, PackageCoverage
from tfport.rendering import json_of
from tfport.reports.console import columns, cut_off, flowing, indented, more, text_of, title
from tfport.reports.layout import ReportPart
from tfport.words import count

VERSION = 1
MOST_ROWS = 20
LONGEST = 300


@text_of(Coverage)
def coverage_text(coverage: Coverage, width: int, *, everything: bool = False) -> Iterator[ReportPart]:
    """The ops that are lacking, by the number of models, and the models that do not run."""
    most = 1 << 30 if everything else MOST_ROWS
    yield title("tfport runs", f"{coverage.running:,} of {count(len(coverage.models), 'model')}")
    ops = list(coverage.ops.items())
    if ops:
        yield title("ops that it lacks", "by the number of models")
        yield columns([[f"{number:,}", op] for op, number in ops[:most]], width)
        yield from more(len(ops) - most)
    others = [model for model in coverage.models if not model.runs]
    if others:
        yield title("models that do not run", f"{len(others):,}")
        rows = [
            [f"{model.path}\n  {cut_off(', '.join(filter(None, (*model.lacks, model.reason))), LONGEST)}"]
            for model in others[:most]
        ]
        yield columns(rows, width)
        yield from more(len(others) - most)


@json_of(Coverage)
def coverage_json(coverage: Coverage) -> dict[str, Any]:
    return {
        "version": VERSION,
        "models": len(coverage.models),
        "runs": coverage.running,
        "unreadable": coverage.unreadable,
        "ops": [{"name": op, "models": number} for op, number in coverage.ops.items()],
        "not_running": [
            {"path": model.path, "lacks": list(model.lacks), "reason": model.reason}
            for model in coverage.models
            if not model.runs
        ],
    }


@text_of(PackageCoverage)
def package_text(coverage: PackageCoverage, width: int, *, everything: bool = False) -> Iterator[ReportPart]:
    """The ops of a package that run, and those that do not."""
    total = count(len(coverage.runs) + len(coverage.lacks), "op")
    yield title(coverage.package, f"tfport runs {len(coverage.runs):,} of {total}")
    for name, ops in (("runs", coverage.runs), ("lacks", coverage.lacks)):
        if ops:
            yield title(name, f"{len(ops):,}")
            yield indented(flowing(ops, width - 2))


@json_of(PackageCoverage)
def package_json(coverage: PackageCoverage) -> dict[str, Any]:
    return {
        "version": VERSION,
        "package": coverage.package,
        "runs": coverage.runs,
        "lacks": coverage.lacks,
    }
