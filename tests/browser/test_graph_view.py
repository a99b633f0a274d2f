"""The graph in a real browser: its outline, search, keyboard, pointer, parts and hostile names."""

import re

import pytest
from tests.browser.conftest import EXAMPLES
from tests.browser.opened_page import AXE
from tests.recorded_models import path_of

ATTENTION = EXAMPLES / "attention"
SCOPES = path_of("tensor_arrays")


def painted(page):
    """Wait for the first picture."""
    page.wait_for_function("() => performance.getEntriesByName('tfport-graph-painted').length > 0")
    page.get_by_role("treeitem").first.wait_for()
    return page


def rows(page):
    return page.get_by_role("treeitem")


def first_closed(page):
    row = page.locator("[role=treeitem][aria-expanded=false]").first
    row.wait_for()
    return row


def is_blank(page):
    """Whether the canvas shows one color only."""
    return page.evaluate(
        """() => {
          const canvas = document.querySelector('.graph-canvas');
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          return data.every((value, place) => value === data[place % 4]);
        }"""
    )


@pytest.mark.parametrize("width", [1400, 800])
def test_the_graph_is_painted(opened, width):
    opened.resize(width)
    page = painted(opened.path(ATTENTION, "graph"))
    assert not is_blank(page)
    assert not opened.scrolls_sideways


def test_the_outline_opens_and_closes_what_the_picture_shows(opened):
    page = painted(opened.path(SCOPES, "graph"))
    page.get_by_role("button", name="Collapse all").click()
    row = first_closed(page)
    before = rows(page).count()
    row.locator(".twist").click()
    page.wait_for_function(f"() => document.querySelectorAll('[role=treeitem]').length > {before}")
    page.get_by_role("button", name="Expand all").click()
    page.wait_for_function("() => !document.querySelector('[role=treeitem][aria-expanded=false]')")


def test_the_outline_is_driven_by_the_keyboard(opened):
    page = painted(opened.path(SCOPES, "graph"))
    page.get_by_role("button", name="Collapse all").click()
    first_closed(page)
    page.get_by_role("tree").focus()
    for _ in range(rows(page).count()):
        if page.locator("[role=treeitem][aria-selected=true][aria-expanded=false]").count():
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.locator("[role=treeitem][aria-selected=true][aria-expanded=true]").wait_for()
    page.keyboard.press("ArrowLeft")
    page.locator("[role=treeitem][aria-selected=true][aria-expanded=false]").wait_for()


def test_search_goes_from_result_to_result(opened):
    page = painted(opened.path(ATTENTION, "graph"))
    page.locator(".graph-canvas").focus()
    page.keyboard.press("/")
    page.keyboard.type("op:BatchMatMulV2")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("node="))
    first = page.url
    count = page.locator(".graph-side .count")
    assert re.match(r"1 of \d+ nodes?", count.inner_text())
    page.locator(".graph-canvas").focus()
    page.keyboard.press("n")
    page.wait_for_function("(first) => location.href !== first", arg=first)
    page.locator(".graph-side .count", has_text=re.compile("^2 of ")).wait_for()
    page.locator(".graph-canvas").focus()
    page.keyboard.press("Shift+N")
    page.wait_for_url(first)


def test_a_link_to_a_node_opens_what_is_around_it(opened, ui):
    graph = ui.graph(ui.open(SCOPES))
    deepest = max(graph["names"], key=lambda name: name.count("/"))
    page = painted(opened.path(SCOPES, "graph", graph="main", node=deepest))
    page.locator("[role=treeitem][aria-selected=true]").wait_for()


def test_the_keyboard_moves_along_edges_and_leaves_with_escape(opened, ui):
    graph = ui.graph(ui.open(ATTENTION))
    inner = graph["names"][graph["op"].index(graph["ops"].index("BatchMatMulV2"))]
    page = painted(opened.path(ATTENTION, "graph", graph="main", node=inner))
    page.locator("[role=treeitem][aria-selected=true]").wait_for()
    before = page.locator("[role=treeitem][aria-selected=true]").inner_text()
    page.locator(".graph-canvas").focus()
    page.keyboard.press("ArrowDown")
    chosen = "document.querySelector('[role=treeitem][aria-selected=true]')"
    page.wait_for_function(f"(before) => {chosen}?.innerText !== before", arg=before)
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('[role=treeitem][aria-selected=true]')")


def test_drag_and_wheel_move_the_picture(opened):
    page = painted(opened.path(ATTENTION, "graph"))
    picture = "document.querySelector('.graph-canvas').toDataURL()"
    first = page.evaluate(picture)
    page.mouse.move(800, 500)
    page.mouse.down()
    page.mouse.move(900, 560, steps=4)
    page.mouse.up()
    page.wait_for_function(f"(before) => {picture} !== before", arg=first)
    second = page.evaluate(picture)
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"(before) => {picture} !== before", arg=second)


def test_everything_in_the_main_graph_is_shown_on_request(opened):
    page = painted(opened.model("keras_functional", "graph", graph="main"))
    unused = page.get_by_role("treeitem").filter(has_text=re.compile("saving|loading|not used"))
    assert unused.count() == 0
    page.get_by_label("What to show").select_option("-1")
    unused.first.wait_for()


def test_hostile_names_are_text(opened, sample_folder):
    page = painted(opened.path(sample_folder / "hostile.pb", "graph"))
    page.get_by_role("button", name="Expand all").click()
    assert not is_blank(page)
    assert page.locator(".graph-view img, .graph-view script, .graph-view b").count() == 0


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make web/node_modules")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_for_accessibility(opened, theme):
    page = painted(opened.path(ATTENTION, "graph"))
    page.evaluate("(theme) => (document.documentElement.dataset.theme = theme)", theme)
    assert opened.serious_violations() == []
