"""The layout of `tfport COMMAND --help`."""

from __future__ import annotations

import argparse

from tfport.reports.lines import terminal_width


class HelpFormatter(argparse.HelpFormatter):
    """The layout of argparse, which makes one of these for each argument of a command."""

    def __init__(self, prog: str, max_help_position: int = 24) -> None:
        super().__init__(prog, max_help_position=max_help_position, width=terminal_width() - 2)
