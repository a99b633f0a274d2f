"""The picture in the README: the output of a real command, as an SVG of a terminal.

`make docs-refresh` writes it again.
"""

from __future__ import annotations

import contextlib
import os
from unittest import mock

from rich.console import Console
from rich.text import Text

from refresh_docs import PROMPT, ROOT, output

OUT = ROOT / "docs/images/matrix.svg"
COMMAND = "matrix examples/attention"
WIDTH = 80
TERMINAL = {"FORCE_COLOR": "1", "NO_COLOR": "", "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}


def picture() -> str:
    with mock.patch.dict(os.environ, TERMINAL), contextlib.chdir(ROOT):
        printed = output(COMMAND)
    with open(os.devnull, "w") as nowhere:
        console = Console(width=WIDTH, record=True, file=nowhere, force_terminal=True, no_color=False)
        console.print(Text.from_ansi(f"{PROMPT}{COMMAND}\n{printed.rstrip()}"))
    return console.export_svg(title="tfport", unique_id="tfport")


if __name__ == "__main__":
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(picture())
