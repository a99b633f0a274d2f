"""Texts and grids are laid out as `rich` does it."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text as RichText

from tfport.reports.layout import Grid, Group, Indented, ReportPart, Text
from tfport.reports.lines import columns_of, plain_text


def texts(letters: str) -> st.SearchStrategy[str]:
    return st.lists(st.text(letters, max_size=30), max_size=6).flatmap(
        lambda words: st.sampled_from([" ", "  ", "\n", ", "]).map(lambda between: between.join(words))
    )


TEXTS, CELLS = texts("abc/_…●漢é-"), texts("abc/_…●é-")
"""A column of a grid may be narrower than a wide character, which is not laid out as by rich."""
WIDTHS = st.sampled_from([12, 20, 40, 80])
SIZES = st.integers(3, 20)
COLUMNS = st.fixed_dictionaries(
    {},
    optional={
        "no_wrap": st.booleans(),
        "overflow": st.sampled_from(["fold", "ellipsis"]),
        "justify": st.sampled_from(["left", "right"]),
    },
).flatmap(lambda options: st.sampled_from(["width", "max_width", "min_width", ""]).flatmap(
    lambda name: SIZES.map(lambda size: {**options, **({name: size} if name else {})})
))  # fmt: skip


def ours(part: ReportPart, width: int) -> list[str]:
    return [plain_text(line).rstrip() for line in part.lines(width)]


def theirs(part, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, no_color=True, highlight=False).print(part)
    return [line.rstrip() for line in out.getvalue().split("\n")[:-1]]


@given(TEXTS, WIDTHS)
@settings(deadline=None, max_examples=100)
def test_text_is_wrapped_as_by_rich(text, width):
    assert ours(Text(text), width) == theirs(RichText(text), width)


@given(st.lists(COLUMNS, min_size=1, max_size=4), st.data(), st.sampled_from([0, 2]), WIDTHS)
@settings(deadline=None, max_examples=150)
def test_a_grid_is_laid_out_as_by_rich(columns, data, gap, width):
    grid, table = Grid(gap), Table.grid(padding=(0, gap))
    for options in columns:
        grid.add_column(**options)
        table.add_column(**options)
    for row in data.draw(st.lists(st.tuples(*[CELLS] * len(columns)), max_size=4)):
        grid.add_row(*map(Text, row))
        table.add_row(*map(RichText, row))
    assert ours(Indented(grid, 2), width) == theirs(Padding(table, (0, 0, 0, 2)), width)


def test_cells_beyond_the_declared_columns_add_columns():
    grid = Grid(gap=2)
    grid.add_row("a", Text("b", justify="right"))
    grid.add_row("long", "longer", "third")
    assert ours(grid, 80) == ["a          b", "long  longer  third"]


def test_styles_stay_with_their_characters():
    text = Text.assemble("one ", ("two three", "bold"), (" four", "dim"))
    assert text.lines(8) == [
        [("one ", ""), ("two ", "bold")],
        [("three", "bold"), (" ", "dim")],
        [("four", "dim")],
    ]


def test_a_group_has_its_parts_below_one_another():
    assert ours(Group("a", Text(""), Group(Indented(Text("b"), 2))), 10) == ["a", "", "  b"]


def test_a_text_joins_others():
    assert str(Text(" | ").join([Text("a"), Text("b", "red")])) == "a | b"


@pytest.mark.parametrize("text", ["plain … ● →", "漢字 かな 한국어", "é e\u0301 \u200d", "\U0001f600 ok"])
def test_characters_take_the_columns_that_rich_gives_them(text):
    assert columns_of(text) == cell_len(text)
