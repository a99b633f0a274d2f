"""A grid: rows of cells in columns without lines, as wide as their contents where there is space.

If there is not, the widest columns that may wrap get narrower, until all fit.
"""

from __future__ import annotations

from collections.abc import Sequence

from tfport.reports.layout.lines import ELLIPSIS, FOLD, Line, cut, width_of
from tfport.reports.layout.parts import LEFT, OUTSIDE, ColumnLayout, ReportPart, Text

Row = list[Text]


class Grid(ReportPart):
    """Rows of texts, with a gap between columns."""

    def __init__(self, gap: int = 0) -> None:
        self.gap = gap
        self.columns: list[ColumnLayout] = []
        self.rows: list[Row] = []

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

    def _row_lines(self, row: Row, widths: Sequence[int]) -> list[Line]:
        cells = [
            cell.lines(width - self._gap_after(place), column)
            for place, (cell, width, column) in enumerate(zip(row, widths, self.columns, strict=False))
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
        widths = [self._measured(place, most) or 1 for place in range(len(self.columns))]
        if sum(widths) <= most:
            return widths
        shrinks = [column.width is None and not column.no_wrap for column in self.columns]
        narrow = _evened(_with_widest_reduced(widths, shrinks, most), most)
        return [self._measured(place, width) for place, width in enumerate(narrow)]

    def _measured(self, place: int, most: int) -> int:
        """The width of a column with its gap, if `most` is available."""
        if most < 1:
            return 0
        column, gap = self.columns[place], self._gap_after(place)
        if column.width is not None:
            return min(column.width + gap, most)
        cells = [row[place].widest_line if place < len(row) else 0 for row in self.rows]
        wide = min(max((min(cell, most) + gap for cell in cells), default=most), most)
        if column.min_width is not None:
            wide = max(wide, column.min_width + gap)
        return wide if column.max_width is None else min(wide, column.max_width + gap)

    def _gap_after(self, place: int) -> int:
        return self.gap if place < len(self.columns) - 1 else 0


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
