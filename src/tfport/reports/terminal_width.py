"""Whether the output is a terminal, and its width, without the modules for archives that `shutil` imports."""

from __future__ import annotations

import os
import sys

DEFAULT_WIDTH = 80


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
