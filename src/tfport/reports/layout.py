"""Parts of a text report: styled text, grids of columns, groups. Each renders itself for a width.

What is measured, wrapped and cut off follows `rich`, without importing it: that would take a fifth of the
time of a short command.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from tfport.reports.lines import (
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
)
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
        for index, text in enumerate(texts):
            joined.runs += (self.runs if index else []) + text.runs
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


class Grid(ReportPart):
    """Rows of texts, with a gap between columns."""

    def __init__(self, gap: int = 0) -> None:
        self.gap = gap
        self.columns: list[ColumnLayout] = []
        self.rows: list[list[Text]] = []

    def add_column(
        self, *, no_wrap: bool = False, justify: str = LEFT, overflow: str = ELLIPSIS,
        width: int | None = None, min_width: int | None = None, max_width: int | None = None,
    ) -> None:  # fmt: skip
        self.columns.append(ColumnLayout(no_wrap, justify, overflow, width, min_width, max_width))

    def add_row(self, *cells: Text | str) -> None:
        """Add a row; more cells than columns add columns."""
        self.rows.append([Text(cell) if isinstance(cell, str) else cell for cell in cells])
        self.columns += [ColumnLayout()] * (len(cells) - len(self.columns))

    def lines(self, width: int, column: ColumnLayout = OUTSIDE) -> list[Line]:
        if not self.columns:
            return [[]]
        widths = self._widths(width)
        return [cut(line, width, FOLD) for row in self.rows for line in self._row_lines(row, widths)]

    def _row_lines(self, row: list[Text], widths: Sequence[int]) -> list[Line]:
        cells = [
            cell.lines(width - self._gap_after(index), column)
            for index, (cell, width, column) in enumerate(zip(row, widths, self.columns, strict=False))
        ]
        lines = []
        for number in range(max([1, *map(len, cells)])):
            line: Line = []
            for cell, width in zip(cells, widths, strict=False):
                part = cell[number] if number < len(cell) else []
                line += [*part, (" " * (width - width_of(part)), "")]
            lines.append(line)
        return lines

    def _widths(self, most: int) -> list[int]:
        """The width of each column with its gap."""
        widths = [self._measured(index, most) or 1 for index in range(len(self.columns))]
        if sum(widths) <= most:
            return widths
        shrinks = [column.width is None and not column.no_wrap for column in self.columns]
        narrow = _evened(_with_widest_reduced(widths, shrinks, most), most)
        return [self._measured(index, width) for index, width in enumerate(narrow)]

    def _measured(self, index: int, most: int) -> int:
        """The width of a column with its gap, if `most` is available."""
        if most < 1:
            return 0
        column, gap = self.columns[index], self._gap_after(index)
        if column.width is not None:
            return min(column.width + gap, most)
        cells = [row[index].widest_line if index < len(row) else 0 for row in self.rows]
        wide = min(max((min(cell, most) + gap for cell in cells), default=most), most)
        if column.min_width is not None:
            wide = max(wide, column.min_width + gap)
        return wide if column.max_width is None else min(wide, column.max_width + gap)

    def _gap_after(self, index: int) -> int:
        return self.gap if index < len(self.columns) - 1 else 0


def _with_widest_reduced(widths: list[int], shrinks: Sequence[bool], most: int) -> list[int]:
    """Reduce the widest columns that may shrink to the next widest, until all fit or all are equal."""
    while (excess := sum(widths) - most) > 0 and any(shrinks):
        able = [width for width, shrink in zip(widths, shrinks, strict=True) if shrink]
        widest = max(able)
        difference = widest - max((width for width in able if width != widest), default=0)
        if not difference:
            break
        reduced = [shrink and width == widest for width, shrink in zip(widths, shrinks, strict=True)]
        widths = _reduced(widths, reduced, [min(excess, difference)] * len(widths), excess)
    return widths


def _evened(widths: list[int], most: int) -> list[int]:
    """Reduce all columns alike if they still do not fit."""
    excess = sum(widths) - most
    return _reduced(widths, [True] * len(widths), widths, excess) if excess > 0 else widths


def _reduced(widths: Sequence[int], which: Sequence[bool], limits: Sequence[int], total: int) -> list[int]:
    """Reduce some widths by a total, in equal shares up to a limit for each."""
    chosen = [reduce and limit > 0 for reduce, limit in zip(which, limits, strict=True)]
    left, result = sum(chosen), []
    for width, reduce, limit in zip(widths, chosen, limits, strict=True):
        share = min(limit, round(total / left)) if reduce else 0
        result.append(width - share)
        total, left = total - share, left - reduce
    return result
