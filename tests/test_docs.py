"""What the pages say is what happens: their commands give the output shown, their Python runs."""

import re
import shlex
from pathlib import Path

import pytest

from tfport.cli.main import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str, start: str = ""):
    for page in PAGES:
        for found, text in BLOCK.findall(page.read_text()):
            if found == language and text.startswith(start):
                yield pytest.param(text, id=f"{page.relative_to(ROOT)}: {text.splitlines()[0]}")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the pages' commands are typed: beside what they name, and free to be written into."""
    for name in ("examples", "tests", "tools"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("block", list(blocks("", "$ tfport ")))
def test_a_command_prints_what_the_page_shows(block, capsys):
    for session in block.split("$ tfport ")[1:]:
        command, _, shown = session.partition("\n")
        main(shlex.split(command))
        said = capsys.readouterr()
        assert (said.out + said.err).strip() == shown.strip()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("block", list(blocks("python")))
def test_the_python_of_a_page_runs(block, capsys):
    exec(compile(block, "page", "exec"), {})
    assert "Traceback" not in capsys.readouterr().err


def test_every_command_has_a_page():
    from tfport.cli.commands import COMMANDS

    pages = {page.stem for page in (ROOT / "docs" / "commands").glob("*.md")}
    assert pages == set(COMMANDS.names())


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
