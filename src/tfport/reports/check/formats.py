"""Report formats: how a module declares one, and how formats are found.

    @report_format("sarif")
    class SarifFormat(ReportFormat): …

A format converts each model's report to a part, then joins the parts. Parts are made in several
processes, so they must be picklable. The index names the module of a format, so only the
requested format is imported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from tfport.discovery import Catalog
from tfport.startup.dataclass import dataclass

WIDTH = 80
CHECK, SCAN = "check", "scan"
"""The commands that write reports."""


@dataclass(frozen=True)
class ReportLayout:
    """How much to show, and how wide."""

    width: int = WIDTH
    many: bool = False
    """Whether the report covers a list of models, however long."""
    everything: bool = False
    """Whether long texts and lists are shown in full."""
    color: bool = False
    command: str = CHECK


class ReportFormat(ABC):
    """Writes the reports on one or more models."""

    always_many: ClassVar[bool] = True
    """Whether the format has one structure for one model and for many, and a place for unreadable models."""

    def __init__(self, layout: ReportLayout) -> None:
        self.layout = layout

    @abstractmethod
    def part(self, report: Any) -> Any:
        """Convert the report on one model: of `check`, or of any command that has this format."""

    @abstractmethod
    def unreadable(self, model: str, why: str) -> Any:
        """The part of a model that cannot be read."""

    @abstractmethod
    def whole(self, parts: Sequence[Any]) -> str:
        """Join the parts of all models into the text to print."""


REPORT_FORMATS = Catalog[type[ReportFormat]]("report formats", "tfport.reports", "tfport.web.pages")
FormatClass = TypeVar("FormatClass", bound=type[ReportFormat])


def report_format(name: str) -> Callable[[FormatClass], FormatClass]:
    """Declare a report format."""

    def declare(format_class: FormatClass) -> FormatClass:
        REPORT_FORMATS.add(name, format_class)
        return format_class

    return declare
