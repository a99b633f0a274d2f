"""The picture in the README: the output of a real command, as an SVG of a terminal.

`make docs-refresh` writes it again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "docs/images/matrix.svg"
COMMAND = ["matrix", "examples/attention"]
WIDTH = 80


def main() -> None:
    environment = os.environ | {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}
    command = [sys.executable, "-m", "tfport", *COMMAND]
    output = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout
    with open(os.devnull, "w") as nowhere:
        console = Console(width=WIDTH, record=True, file=nowhere, force_terminal=True)
        console.print(Text.from_ansi(f"$ tfport {' '.join(COMMAND)}\n{output.rstrip()}"))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(console.export_svg(title="tfport", unique_id="tfport"))


if __name__ == "__main__":
    main()
