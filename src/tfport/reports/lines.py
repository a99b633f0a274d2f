"""The width of a terminal, and text broken into lines as a terminal shows it.

A line is a list of runs, each with its style: `bold red`. Most characters are one column wide; what the
others need, `unicodedata` knows.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType

Run = tuple[str, str]
"""A text and its style."""
Line = list[Run]

DEFAULT_WIDTH = 80
FOLD, ELLIPSIS = "fold", "ellipsis"
"""What to do with a word that is longer than a line: break it, or cut it off with `…`."""
_NARROW = re.compile("[ -~…●→\u00d7\u2013·½✓✗]*")
_WORD = re.compile(r"\s*\S+\s*")


def columns_of(text: str) -> int:
    """The number of columns that a text takes."""
    if _NARROW.fullmatch(text):
        return len(text)
    import unicodedata  # here, as few texts need it

    return sum(_columns_of_character(unicodedata, character) for character in text)


def _columns_of_character(unicodedata: ModuleType, character: str) -> int:
    """None for an accent or another mark on the character before, two for a wide one."""
    category = unicodedata.category(character)
    if category in ("Mn", "Me", "Mc", "Cc", "Cf"):
        return 0
    return 2 if category != "Cn" and unicodedata.east_asian_width(character) in "WF" else 1


def width_of(line: Line) -> int:
    return columns_of(plain_text(line))


def plain_text(line: Line) -> str:
    return "".join([text for text, _ in line])


def split_lines(runs: Line) -> list[Line]:
    """The lines of a text with line breaks."""
    lines: list[Line] = [[]]
    for text, style in runs:
        first, *others = text.split("\n")
        lines[-1].append((first, style))
        lines += [[(other, style)] for other in others]
    return lines


def wrapped(line: Line, width: int, overflow: str) -> list[Line]:
    """A line broken between words."""
    text = plain_text(line)
    breaks = [0, *_breaks(text, width, fold=overflow == FOLD), len(text)]
    parts = [part_of(line, start, end) for start, end in pairwise(breaks)]
    return [without_end(part, beyond=width) for part in parts]


def part_of(line: Line, start: int, end: int) -> Line:
    """The characters from `start` to `end`."""
    part, place = [], 0
    for text, style in line:
        if kept := text[max(start - place, 0) : max(end - place, 0)]:
            part.append((kept, style))
        place += len(text)
    return part


def cut(line: Line, width: int, overflow: str) -> Line:
    """The line, cut off if it is too long."""
    if width_of(line) <= width:
        return line
    room = width - 1 if overflow == ELLIPSIS else width
    text = _beginning(plain_text(line), room)
    short = part_of(line, 0, len(text))
    spaces = " " * (room - columns_of(text))  # where half of a wide character does not fit
    return [*short, (spaces + "…" * (overflow == ELLIPSIS), short[-1][1] if short else line[0][1])]


def _beginning(text: str, width: int) -> str:
    if _NARROW.fullmatch(text):
        return text[:width]
    used = 0
    for index, character in enumerate(text):
        used += columns_of(character)
        if used > width:
            return text[:index]
    return text


def without_end(line: Line, beyond: int = 0) -> Line:
    """The line without spaces at its end, as far as they are beyond a place."""
    text = plain_text(line)
    return part_of(line, 0, max(len(text.rstrip()), min(beyond, len(text))))


def _breaks(text: str, width: int, *, fold: bool) -> Iterator[int]:
    """Where new lines begin."""
    used = 0
    for match in _WORD.finditer(text):
        word, start = match[0], match.start()
        length = columns_of(word.rstrip())
        if width - used >= length:
            used += columns_of(word)
        elif length > width and fold:
            for piece in _pieces(word, width):
                if start:
                    yield start
                used = columns_of(piece)
                start += len(piece)
        elif length > width or used:
            if start:
                yield start
            used = columns_of(word)


def _pieces(word: str, width: int) -> Iterator[str]:
    """A word in pieces that each fit in a line."""
    piece, used = "", 0
    for character in word:
        wide = columns_of(character)
        if piece and used + wide > width:
            yield piece
            piece, used = "", 0
        piece, used = piece + character, used + wide
    yield piece


def is_terminal() -> bool:
    """Whether to write for a terminal: FORCE_COLOR decides if it is set, as in `rich`, or else the output."""
    forced = os.environ.get("FORCE_COLOR")
    return sys.stdout.isatty() if forced is None else forced != ""


def terminal_width() -> int:
    """The columns that `COLUMNS` or the terminal of the output says, as `shutil.get_terminal_size` does."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or DEFAULT_WIDTH  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # closed, or not a terminal
        return DEFAULT_WIDTH
