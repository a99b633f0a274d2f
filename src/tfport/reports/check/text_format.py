"""The text format: a full report for each model, or one line where it runs and there are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from tfport.check.check import RUNS
from tfport.check.check_report import CheckReport
from tfport.reports.check.formats import ReportFormat, report_format
from tfport.reports.check.phrases import summary
from tfport.reports.check.text import line, render, unreadable
from tfport.reports.console import colored, plain
from tfport.startup.dataclass import dataclass


@dataclass(frozen=True)
class TextPart:
    """The text about one model."""

    verdict: str | None
    """None if the model cannot be read."""
    rows: list[Any]
    is_line: bool


@report_format("text")
class TextFormat(ReportFormat):
    """Text for people."""

    always_many: ClassVar[bool] = False

    def part(self, report: CheckReport) -> TextPart:
        layout = self.layout
        if layout.many and report.verdict == RUNS and not layout.everything:
            return TextPart(report.verdict, [line(report)], is_line=True)
        rows = list(render(report, layout.width, everything=layout.everything))
        return TextPart(report.verdict, rows, is_line=False)

    def unreadable(self, model: str, why: str) -> TextPart:
        return TextPart(None, [unreadable(model, why)], is_line=True)

    def whole(self, parts: Sequence[TextPart]) -> str:
        rows = list(_rows(parts))
        return colored(rows, self.layout.width) if self.layout.color else plain(lambda _: rows) + "\n"


def _rows(parts: Sequence[TextPart]) -> Iterator[Any]:
    for before, part in zip([None, *parts], parts, strict=False):
        if part.is_line and before and not before.is_line:
            yield ""
        yield from part.rows
    if len(parts) > 1:
        yield f"\n{summary([part.verdict for part in parts])}"
