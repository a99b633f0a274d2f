"""Parts of a text report: styled text, grids of columns, groups. Each renders itself for a width.

What is measured, wrapped and cut off follows `rich`, without importing it: that would take a fifth of the
time of a short command.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from tfport.reports.layout.lines import (
    ELLIPSIS,
    FOLD,
    Line,
    Run,
    columns_of,
    cut,
    plain_text,
    split_lines,
    width_of,
    without_end,
    wrapped,
)  # fmt: skip
from tfport.startup.dataclass import dataclass

LEFT, RIGHT = "left", "right"


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """How the cells of a column are laid out; widths are without the gap to the next column."""

    no_wrap: bool = False
    justify: str = LEFT
    overflow: str = ELLIPSIS
    width: int | None = None
    min_width: int | None = None
    max_width: int | None = None


OUTSIDE = ColumnLayout(overflow=FOLD)
"""The layout of a text that is not in a grid."""


class ReportPart(ABC):
    """A part of a report."""

    @abstractmethod
    def lines(self, width: int, column: ColumnLayout = OUTSIDE) -> list[Line]:
        """Its lines, none wider than `width`."""


class Text(ReportPart):
    """A text whose parts may have styles: `bold red`, `dim`."""

    def __init__(self, text: str = "", style: str = "", *, justify: str = "") -> None:
        self.runs: list[Run] = [(text, style)]
        self._justify = justify

    @classmethod
    def assemble(cls, *parts: str | Run) -> Text:
        """A text of parts without or with a style."""
        text = cls()
        for part in parts:
            text.append(part) if isinstance(part, str) else text.append(*part)
        return text

    def append(self, text: str, style: str = "") -> None:
        self.runs.append((text, style))

    def join(self, texts: Iterable[Text]) -> Text:
        """The texts with this one between them."""
        joined = Text()
        for place, text in enumerate(texts):
            joined.runs += (self.runs if place else []) + text.runs
        return joined

    @property
    def widest_line(self) -> int:
        return max(map(columns_of, plain_text(self.runs).splitlines()), default=0)

    def lines(self, width: int, column: ColumnLayout = OUTSIDE) -> list[Line]:
        if width < 1:
            return []
        parts: list[Line] = []
        for line in split_lines(self.runs):
            parts += [line] if column.no_wrap else wrapped(line, width, column.overflow)
        if (self._justify or column.justify) == RIGHT:
            return [_to_the_right(cut(without_end(part), width, column.overflow), width) for part in parts]
        return [cut(part, width, column.overflow) for part in parts]

    def __str__(self) -> str:
        return plain_text(self.runs)


def _to_the_right(line: Line, width: int) -> Line:
    return [(" " * (width - width_of(line)), ""), *line]


class Group(ReportPart):
    """Parts below one another."""

    def __init__(self, *parts: ReportPart | str) -> None:
        self.parts = [Text(part) if isinstance(part, str) else part for part in parts]

    def lines(self, width: int, column: ColumnLayout = OUTSIDE) -> list[Line]:
        return [line for part in self.parts for line in part.lines(width, column)]


class Indented(ReportPart):
    """A part with an empty margin on its left."""

    def __init__(self, part: ReportPart, margin: int) -> None:
        self.part, self.margin = part, margin

    def lines(self, width: int, column: ColumnLayout = OUTSIDE) -> list[Line]:
        return [[(" " * self.margin, ""), *line] for line in self.part.lines(width - self.margin, column)]
