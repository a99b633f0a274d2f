"""The pages are correct: commands print the output shown, Python code runs, links and counts are right."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from tfport.cli.main import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str, start: str = ""):
    for page in PAGES:
        for tag, text in BLOCK.findall(page.read_text()):
            if tag == language and text.startswith(start):
                yield pytest.param(text, id=f"{page.relative_to(ROOT)}: {text.splitlines()[0]}")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A temporary folder with links to the folders that pages refer to."""
    for name in ("examples", "tests", "tools"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)


def comparable(text: str) -> str:
    """A text without what depends on the processor: the last bits of outputs in `fix`, and its columns."""
    text = re.sub(r"largest absolute +relative +ulps +unequal", "differences", text)
    rounding = re.compile(r"(float\d+) +\S+ +\S+ +[\d,]+ +[\d,]+ of ([\d,]+)$", re.MULTILINE)
    return rounding.sub(r"\1 of \2", text).strip()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("block", list(blocks("", "$ tfport ")))
def test_a_command_prints_the_output_on_the_page(block, capsys):
    for session in block.split("$ tfport ")[1:]:
        command, _, shown = session.partition("\n")
        main(shlex.split(command))
        printed = capsys.readouterr()
        assert comparable(printed.out + printed.err) == comparable(shown), "run `make docs-refresh`"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("block", list(blocks("python")))
def test_python_code_runs(block, capsys):
    exec(compile(block, "page", "exec"), {})
    assert "Traceback" not in capsys.readouterr().err


def test_every_command_has_a_page():
    from tfport.cli.commands import COMMANDS

    pages = {page.stem for page in (ROOT / "docs" / "commands").glob("*.md")}
    assert pages == set(COMMANDS.names())


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_exist(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_stated_counts_are_computed(page):
    import sys

    sys.path.append(str(ROOT / "tools"))
    import doc_counts

    for name, number in doc_counts.numbers_in(page.read_text()).items():
        assert number == doc_counts.computed(name), "run `make docs-refresh`"


DEVELOPMENT = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs/dev").glob("*.md"))]
PLACEHOLDER = re.compile(r"[^/]*(?:FAMILY|NAME|TOPIC).*")
LAYERS = "formats|graph|registry|atlas|check|runtime|fix|serve|cli"


@pytest.mark.parametrize("page", DEVELOPMENT, ids=str)
def test_modules_and_paths_that_pages_name_exist(page):
    text = page.read_text()
    for name in re.findall(rf"`(?:tfport\.)?((?:{LAYERS})\.[a-z_.]+)`", text):
        assert (ROOT / "src/tfport" / name.replace(".", "/")).is_dir() or find_spec(f"tfport.{name}"), name
    for path in re.findall(r"`((?:src|tests|tools|docs|benchmarks)/[\w./-]+)`", text):
        assert (ROOT / PLACEHOLDER.sub("", path)).exists(), path
    for path in re.findall(rf"`((?:{LAYERS})/[\w./-]+)`", text):
        assert (ROOT / "src/tfport" / PLACEHOLDER.sub("", path)).exists(), path
