"""Render the history of a builtin op of TensorFlow Lite."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.atlas.lite.history import EVERY, LiteOpHistory, LiteOpVersion
from tfport.check.lite.op_versions import features_of
from tfport.reports.console import columns, title
from tfport.reports.layout import ReportPart

NONE = "-"


def lite_op_page(history: LiteOpHistory, width: int) -> Iterator[ReportPart]:
    """A line for each version: since when, and for which nodes."""
    yield title(history.op, f"builtin op {history.number} of TensorFlow Lite")
    rows = [_row(history.op, version) for version in history.versions]
    yield columns(rows, width, head=("version", *EVERY, "for nodes where"))


def _row(op: str, version: LiteOpVersion) -> tuple[str, ...]:
    since = (version.since.get(package, NONE) for package in EVERY)
    return str(version.version), *since, "; ".join(features_of(op, version.version))
