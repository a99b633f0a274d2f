"""The page as a file: self-contained, small, with all names from models escaped."""

import re
from html.parser import HTMLParser

import pytest
from tests.recorded_models import PROGRAMS, graph, load, shared

from tfport.atlas.target import resolve_targets
from tfport.check.matrix.matrix import Matrix, matrix_of
from tfport.check.matrix.page.page import page

EVIL = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"
VOID = {"meta", "col", "input", "br", "img"}


class Elements(HTMLParser):
    """Every element with its attributes; complains of one that is not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.found if name == tag]


def hostile() -> Matrix:
    """A model whose names are scripts."""
    model = load("frozen")
    model.graph = graph("x = Placeholder() {dtype=float32, shape=(2,)}")
    model.signatures.clear()
    model.graph.add("BatchMatMulV3", [model.graph.nodes["x"].output(0)] * 2, name=EVIL)
    model.graph.add(EVIL, [], name="custom")
    model.where = EVIL
    return matrix_of(model, since="1.12", until="2.6")


@pytest.mark.parametrize("name", PROGRAMS[::4])
def test_it_is_small_and_loads_nothing(name):
    html = page(matrix_of(shared(name)))
    elements = Elements(html)
    assert len(html) < 1_000_000
    assert not re.search(r"(?:https?:)?//[a-z]", html)
    assert not elements.all("link")
    assert all("src" not in attrs for _, attrs in elements.found)


def test_every_bar_links_to_its_card_and_every_row_spans_the_strip():
    matrix = matrix_of(shared("keras_lstm"))
    html = page(matrix)
    elements = Elements(html)
    cards = {f"#{card['id']}" for card in elements.all("article")}
    assert {bar["href"] for bar in elements.all("a")} == cards
    rows = re.findall(r'<tr(?: class="verdict")?><th scope="row".*?</tr>', html)
    assert rows
    for row in rows:
        assert sum(map(int, re.findall(r'colspan="(\d+)"', row))) == len(matrix.strips[0].cells)


def test_names_from_a_model_are_escaped():
    html = page(hostile())
    elements = Elements(html)
    assert len(elements.all("script")) == 1
    assert not elements.all("img")
    assert not any(name.startswith("on") for _, attrs in elements.found for name in attrs)
    assert "&lt;/script&gt;&lt;script&gt;" in html


def test_many_causes_stay_within_a_megabyte():
    old, new = (resolve_targets(f"tensorflow=={release}")[0].registry for release in ("1.0.0", "2.21.0"))
    model = load("frozen")
    model.graph = graph("x = Placeholder() {dtype=float32, shape=(2,)}")
    model.signatures.clear()
    for op in [name for name in new if name not in old][:500]:
        model.graph.add(op, [], name=f"a/long/scope/of/names/{op}")
    html = page(matrix_of(model, until="1.3"))
    assert len(html) < 1_000_000
    assert "more: tfport matrix --json" in html
