"""Update README.md and docs/: the output of every `$ tfport` block, and every computed count.

    python tools/refresh_docs.py [PAGE …]

Review the difference before you commit it: a change here is a change for users.
`tests/test_docs.py` checks that the pages are current.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import doc_counts
import op_table
from tfport.cli.main import main

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?<=^```\n)\$ tfport .*?(?=^```$)", re.MULTILINE | re.DOTALL)
PROMPT = "$ tfport "


def refreshed(block: re.Match[str]) -> str:
    """Each command of a block with its current output."""
    return "".join(PROMPT + updated_session(session) for session in block[0].split(PROMPT)[1:])


def updated_session(session: str) -> str:
    """A command and its output; unchanged if they differ only in what depends on the machine."""
    command, _, shown = session.partition("\n")
    now = output(command)
    return session if comparable(shown) == comparable(now) else f"{command}\n{now}"


def comparable(text: str) -> str:
    """A text without what depends on the processor: the last bits of outputs in `fix`, and its columns.

    Also without the version, which an editable install keeps from the day it was made.
    """
    text = re.sub(r"\btfport \d+\.\d+\.\d+", "tfport VERSION", text)
    text = re.sub(r"largest absolute +relative +ulps +unequal", "differences", text)
    rounding = re.compile(r"(float\d+) +\S+ +\S+ +[\d,]+ +[\d,]+ of ([\d,]+)$", re.MULTILINE)
    return rounding.sub(r"\1 of \2", text).strip()


def output(command: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        main(shlex.split(command))
    text = printed.getvalue().rstrip("\n")
    return f"{text}\n" if text else ""


def pages(names: list[str]) -> list[Path]:
    return [Path(name).resolve() for name in names] or [
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def refresh(names: list[str]) -> None:
    os.environ.pop("FORCE_COLOR", None)
    for page in pages(names):
        before = page.read_text()
        after = doc_counts.refreshed(BLOCK.sub(in_scratch_folder, before))
        if after != before:
            page.write_text(after)
            print(page.relative_to(ROOT))
    if not names:
        op_table.main()


def in_scratch_folder(block: re.Match[str]) -> str:
    """Run the block in a temporary folder with links to the folders that pages refer to."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name in ("examples", "tests", "tools"):
            Path(name).symlink_to(ROOT / name)
        return refreshed(block)


if __name__ == "__main__":
    refresh(sys.argv[1:])
