"""A matrix as JSON: the contract of `tfport matrix --json`, version 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.check.fetched import outputs_json
from tfport.matrix.matrix import Cause, Matrix, MatrixCell, Strip

VERSION = 1


def to_json(matrix: Matrix) -> dict[str, Any]:
    return {
        "version": VERSION,
        "model": matrix.model,
        "producer": {
            "tensorflow": matrix.tensorflow or None,
            "graph_def": matrix.graph_def,
            "min_consumer": matrix.min_consumer,
            "keras": matrix.keras or None,
            "lite": matrix.lite or None,
        },
        "signatures": matrix.signatures,
        "fetched": outputs_json(matrix.outputs),
        "strips": [strip_json(strip) for strip in matrix.strips],
    }


def strip_json(strip: Strip) -> dict[str, Any]:
    return {
        "package": strip.package,
        "device": strip.device,
        "loader": strip.loader,
        "signatures": list(strip.signatures),
        "releases": [
            {"release": cell.release, "target": cell.target.requirement, **_outcome(cell)}
            for cell in strip.cells
        ],
        "spans": [span_json(cell_range.cells) for cell_range in strip.ranges()],
    }


def span_json(cells: Sequence[MatrixCell]) -> dict[str, Any]:
    """Consecutive releases with the same outcome."""
    return {"first": cells[0].release, "last": cells[-1].release, **_outcome(cells[0])}


def _outcome(cell: MatrixCell) -> dict[str, Any]:
    return {
        "verdict": cell.verdict,
        "stage": cell.stage,
        "causes": [cause_json(cause) for cause in cell.causes],
    }


def cause_json(cause: Cause) -> dict[str, Any]:
    return {**cause.key._asdict(), "stage": cause.stage}
