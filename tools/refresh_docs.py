"""Run every `$ tfport` block of README.md and docs/ again, and compute every counted number.

    python tools/refresh_docs.py [PAGE …]

Look at the difference before you keep it: the pages say what the commands print, so
what changed here changed for users. `tests/test_docs.py` holds pages and commands together.
"""

import contextlib
import io
import re
import shlex
import sys
import tempfile
from pathlib import Path

import doc_counts
from tfport.cli.main import main

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?<=^```\n)\$ tfport .*?(?=^```$)", re.MULTILINE | re.DOTALL)
PROMPT = "$ tfport "


def refreshed(block: re.Match[str]) -> str:
    """Each command of a block with what it prints now."""
    return "".join(PROMPT + session_again(session) for session in block[0].split(PROMPT)[1:])


def session_again(session: str) -> str:
    """A command and its output; as it was where nothing but blank lines around it differs."""
    command, _, shown = session.partition("\n")
    now = output(command)
    return session if shown.strip() == now.strip() else f"{command}\n{now}"


def output(command: str) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        main(shlex.split(command))
    text = said.getvalue().rstrip("\n")
    return f"{text}\n" if text else ""


def pages(named: list[str]) -> list[Path]:
    return [Path(name).resolve() for name in named] or [
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def refresh(named: list[str]) -> None:
    for page in pages(named):
        before = page.read_text()
        after = doc_counts.refreshed(BLOCK.sub(in_a_scratch_folder, before))
        if after != before:
            page.write_text(after)
            print(page.relative_to(ROOT))


def in_a_scratch_folder(block: re.Match[str]) -> str:
    """The block again, in a folder that it may write into, beside what it names."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name in ("examples", "tests", "tools"):
            Path(name).symlink_to(ROOT / name)
        return refreshed(block)


if __name__ == "__main__":
    refresh(sys.argv[1:])
