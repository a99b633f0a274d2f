"""The layout of text reports: in color and full width on a terminal, plain and 80 columns wide elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator

from tfport.operating_system import shows_colors
from tfport.rendering import PARTS, PLAIN, RenderedResult, Renderer, rendered, renderer_of
from tfport.reports.layout import Grid, Group, Indented, ReportPart, Text
from tfport.reports.lines import Line, is_terminal, plain_text, terminal_width
from tfport.words import printable

WIDTH = 80
INDENT = GAP = 2
LABEL = 26
ANSI_CODES = {
    "bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "magenta": 35, "cyan": 36,
}  # fmt: skip
Render = Callable[[int], Iterable[ReportPart | str]]


def text_of(result_class: type) -> Callable[[Renderer], Renderer]:
    """Declare the text of a class: its parts for a width."""

    def declare(render: Renderer) -> Renderer:
        renderer_of(result_class, PARTS)(render)
        renderer_of(result_class, PLAIN)(lambda result: plain(lambda width: render(result, width)))
        return render

    return declare


def show_result(result: RenderedResult, **options: bool) -> None:
    """Print the text of a result; `everything` shows long lists in full, where its text has some."""
    show(lambda width: rendered(result, PARTS, width, **options))


def show(render: Render) -> None:
    """Print the parts that `render` returns for the width of the output."""
    if is_terminal():
        width = terminal_width()
        sys.stdout.write(colored(render(width), width))
    else:
        print(plain(render))


def plain(render: Render) -> str:
    """The text without color, 80 columns wide."""
    return "\n".join(plain_text(line).rstrip() for line in Group(*render(WIDTH)).lines(WIDTH))


def colored(parts: Iterable[ReportPart | str], width: int) -> str:
    """The text with the colors of a terminal, where it has some and the user wants them."""
    is_wanted = os.environ.get("TERM") not in ("dumb", "unknown") and not os.environ.get("NO_COLOR")
    has_colors = is_wanted and shows_colors()
    paint = _painted if has_colors else plain_text
    return "".join(f"{paint(line)}\n" for line in Group(*parts).lines(width))


def _painted(line: Line) -> str:
    return "".join([_in_style(text, style) if style and text else text for text, style in line])


def _in_style(text: str, style: str) -> str:
    codes = ";".join(str(ANSI_CODES[word]) for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m"


def title(text: str, note: str = "") -> Text:
    """A heading after an empty line."""
    return Text.assemble("\n", (printable(text), "bold"), f"  {printable(note)}" if note else "")


def facts(rows: Iterable[tuple[str, Iterable[str]]], width: int) -> ReportPart:
    """Labels with their items, wrapped between items."""
    shown = [(cut_off(printable(name), LABEL), items) for name, row in rows if (items := list(row))]
    label = max((len(name) for name, _ in shown), default=0)
    grid = Grid(gap=GAP)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, items in shown:
        grid.add_row(Text(name, style="dim"), flowing(items, width - INDENT - label - GAP))
    return indented(grid)


def cut_off(text: str, length: int) -> str:
    """The text, shortened with an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


def indented(part: ReportPart) -> ReportPart:
    return Indented(part, INDENT)


def flowing(items: Iterable[str], width: int) -> Text:
    """Items separated by commas, wrapped between items."""
    return Text("\n".join(_flow([printable(item) for item in items], width)))


def _flow(items: list[str], width: int) -> Iterator[str]:
    line = ""
    for i, item in enumerate(items):
        word = item + ("," if i < len(items) - 1 else "")
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line


def columns(
    rows: Iterable[Iterable[str]], width: int, *, head: Iterable[str] = (), gap: int = GAP, right: int = 0
) -> ReportPart:
    """A table without lines whose last column has the remaining width.

    The last `right` columns are numbers; empty columns are omitted.
    """
    table = [list(row) for row in rows]
    names = list(head)
    total = max(map(len, table), default=0)
    used = [i for i in range(total) if any(row[i] for row in table)]
    grid = Grid(gap=gap)
    for i in used:
        number = i >= total - right
        grid.add_column(
            no_wrap=i != used[-1] or number, justify="right" if number else "left", overflow="fold"
        )
    if names:
        grid.add_row(*(Text(names[i], style="dim") for i in used))
    for row in table:
        grid.add_row(*(Text("\n".join(map(printable, row[i].split("\n")))) for i in used))
    return indented(grid)


def labeled(rows: Iterable[tuple[str, str]], label: int) -> Iterator[ReportPart]:
    """Texts with labels of a width beside them, if there are any."""
    grid = Grid()
    grid.add_column(width=label, no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in rows:
        grid.add_row(Text(name, style="dim"), Text("\n".join(map(printable, text.split("\n")))))
    if grid.rows:
        yield indented(grid)


def more(left_out: int) -> Iterator[ReportPart]:
    """The line below a shortened list."""
    if left_out > 0:
        yield Text(f"… {left_out:,} more; --all shows them", style="dim")
