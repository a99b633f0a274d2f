"""The width of the terminal, without the modules for archives that `shutil` imports."""

from __future__ import annotations

import os
import sys

DEFAULT_WIDTH = 80


def terminal_width() -> int:
    """The columns that `COLUMNS` or the terminal of the output says, as `shutil.get_terminal_size` does."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or DEFAULT_WIDTH  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # closed, or not a terminal
        return DEFAULT_WIDTH
