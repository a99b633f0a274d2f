"""A matrix with a finding for each cause, quoted from the newest release that has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tfport.check.findings.finding import RUN
from tfport.matrix.matrix import CellRange, FindingKey, Matrix, MatrixCell, Strip
from tfport.reports.check.json import finding_json

MOST_CAUSES = 120
"""The most causes of a strip; `tfport check` lists all of a release."""
UNKNOWN = "unknown"


def matrix_with_details(matrix: Matrix) -> dict[str, Any]:
    """`tfport matrix --json`, with an entry for each cause and range of releases that notices it alike."""
    return {**matrix.to_json(), "details": [d for strip in matrix.strips for d in _strip_details(strip)]}


def _strip_details(strip: Strip) -> Iterator[dict[str, Any]]:
    keys = list(dict.fromkeys(cause.key for cause, _ in strip.broken()))
    for key in keys[:MOST_CAUSES]:
        for cells in strip.ranges(lambda cell, key=key: cause_outcome(cell, key)):  # type: ignore[misc]
            outcome = cause_outcome(cells.cells[0], key)
            if outcome is not None:
                yield _entry(strip, key, outcome, cells)


def _entry(strip: Strip, key: FindingKey, outcome: str, cells: CellRange) -> dict[str, Any]:
    newest = cells.cells[-1]
    findings = [f for f in newest.findings if (f.code, f.op, f.attr) == key]
    return {
        **key._asdict(),
        "package": strip.package,
        "device": strip.device,
        "loader": strip.loader,
        "signatures": list(strip.signatures),
        "first": cells.cells[0].release,
        "last": newest.release,
        "release": newest.release,
        "target": newest.target.requirement,
        "outcome": outcome,
        "findings": len(findings),
        "finding": finding_json(findings[0]),
    }


def cause_outcome(cell: MatrixCell, key: FindingKey) -> str | None:
    """`load`, `run` or `unknown`: what a cause does on a release; None if the release does not have it."""
    findings = [f for f in cell.findings if (f.code, f.op, f.attr) == key]
    if not findings:
        return None
    certain = any(f.decides and not f.doubt for f in findings)
    return min(f.stage or RUN for f in findings) if certain else UNKNOWN
