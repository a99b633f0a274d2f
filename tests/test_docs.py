"""The pages are correct: commands print the output shown, Python code runs, links and counts are right."""

import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tfport.cli.main import main

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tools"))

import doc_counts  # noqa: E402
import docs_picture  # noqa: E402
import op_table  # noqa: E402
from refresh_docs import comparable  # noqa: E402

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str, start: str = ""):
    for page in PAGES:
        for tag, text in BLOCK.findall(page.read_text()):
            if tag == language and text.startswith(start):
                yield pytest.param(text, id=f"{page.relative_to(ROOT)}: {text.splitlines()[0]}")


NOT_OUR_WORDS = re.compile(
    r"in place of|[Pp]rocessor (?:time|seconds)|anew|otherwise than|made up|on the web are|other answers"
    r"|not any more|on none of|by the way that|the begin of"
)
"""Phrases that read as translated; CONTRIBUTING.md, "Words that users read", says what to write."""
RECORDED = "truth"
MOST_CHANGES = 82
"""Lines of the CHANGELOG: what a user cares about."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A temporary folder with links to the folders that pages refer to."""
    for name in ("examples", "tests", "tools"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)


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


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name == "commands"], ids=str)
def test_usage_fits_the_width_of_a_page(page):
    usage = next(text for tag, text in BLOCK.findall(page.read_text()) if not tag)
    assert [line for line in usage.splitlines() if len(line) > 80] == []


def test_words_are_those_of_the_guide():
    texts = [page for page in PAGES if page.parent.name != RECORDED]
    texts += (ROOT / "src/tfport").rglob("known_messages/*.toml")
    found = {text: NOT_OUR_WORDS.findall(" ".join(text.read_text().split())) for text in texts}
    assert {str(text.relative_to(ROOT)): words for text, words in found.items() if words} == {}


def test_the_changelog_is_one_short_section_without_internal_numbers():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == ["0.2.0"]
    assert len(text.splitlines()) <= MOST_CHANGES
    assert not re.search(r"\bissue|#\d", text)


def test_the_first_pages_begin_with_what_a_reader_does_first():
    home = (ROOT / "docs/index.md").read_text()
    places = [home.index(text) for text in ("```\npip install", "tfport check MODEL", "| what you see |")]
    assert places == sorted(places)
    api = (ROOT / "docs/api.md").read_text()
    assert api.startswith("# Python API\n\n```python\nimport tfport\n")


def test_the_guide_has_ten_rules_and_ten_pairs():
    guide = (
        (ROOT / "CONTRIBUTING.md").read_text().partition("## Words that users read")[2].partition("\n## ")[0]
    )
    assert len(re.findall(r"^\d+\. ", guide, re.MULTILINE)) == 10
    assert guide.count("\n| ") - 1 == 10


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_exist(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_stated_counts_are_computed(page):
    for name, number in doc_counts.numbers_in(page.read_text()).items():
        assert number == doc_counts.computed(name), "run `make docs-refresh`"


def test_the_table_of_ops_is_current():
    assert op_table.PAGE.read_text() == op_table.page(), "run `make docs-refresh`"


def test_the_picture_shows_the_command_in_color():
    picture = docs_picture.OUT.read_text()
    assert shown_in(picture) == shown_in(docs_picture.picture()), "run `make docs-refresh`"
    colors = {text: color for color, text in shown_in(picture)}
    assert len({colors["x"], colors["●"], colors["runs"]}) == 3


def shown_in(picture: str) -> list[tuple[str, str]]:
    """The texts of an SVG with their colors."""
    colors = dict(re.findall(r"\.(tfport-r\d+) \{ fill: (#\w+)", picture))
    return [
        (colors[style], text)
        for style, text in re.findall(r'<text class="(tfport-r\d+)"[^>]*>([^<]*)', picture)
    ]


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
