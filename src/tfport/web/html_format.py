"""A report as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tfport.check.check_report import CheckReport
from tfport.errors import Error
from tfport.reports.check.formats import ReportFormat, report_format
from tfport.web.pages import check_page


@report_format("html")
class HtmlFormat(ReportFormat):
    """HTML for one model: verdicts, findings and the graph, to attach to a ticket."""

    always_many: ClassVar[bool] = False

    def part(self, report: CheckReport) -> str:
        if self.layout.many:
            raise Error("an HTML page is about one model; check the models one at a time")
        assert report.subject is not None
        return check_page(report, report.subject)

    def unreadable(self, model: str, why: str) -> str:
        raise Error(f"{model}: {why}")

    def whole(self, parts: Sequence[str]) -> str:
        return parts[0]
