"""The graph by touch, mouse and keys: panning, pinching, the minimap, addresses and colors."""

import re
from urllib.parse import unquote_plus

import pytest
from tests.browser.canvas import Fingers, GraphCanvas
from tests.browser.sample_models import chain_name
from tests.browser.test_graph_view import painted
from tests.browser.views import ATTENTION
from tests.recorded_models import path_of

NODE = chain_name(200)


@pytest.fixture
def canvas(opened, sample_folder):
    """A chain of nodes with one in the middle of the canvas."""
    opened.page.emulate_media(reduced_motion="reduce")  # the camera is there at once
    page = painted(opened.path(sample_folder / "long_edges.pb", "graph", graph="main", node=NODE))
    page.locator("[role=treeitem][aria-selected=true]").wait_for()
    return GraphCanvas(page)


def test_one_finger_moves_the_picture(canvas):
    x, y = canvas.middle
    Fingers(canvas.page).move(((x + 150, y), (x + 80, y + 60)))
    assert canvas.under(x - 70, y + 60) == NODE
    assert canvas.under(x, y) != NODE


def test_two_fingers_zoom_around_their_middle(canvas):
    x, y = canvas.middle
    before = canvas.right_of(NODE)
    Fingers(canvas.page).move(((x - 40, y), (x - 80, y)), ((x + 40, y), (x + 80, y)))
    assert canvas.right_of(NODE) > 1.7 * before
    Fingers(canvas.page).move(((x - 120, y), (x - 60, y)), ((x + 120, y), (x + 60, y)))
    assert canvas.right_of(NODE) < 1.3 * before


def test_a_tap_selects(canvas):
    x, y = canvas.middle
    canvas.page.get_by_role("button", name="Close the panel").click()
    canvas.page.get_by_role("complementary", name="Selected node").wait_for(state="detached")
    x, y = canvas.middle
    found = next(
        place for down in range(0, 200, 5) for place in [(x, y + down), (x - 180, y + down)]
        if canvas.under(*place).startswith("n")
    )  # fmt: skip
    name = canvas.under(*found)
    Fingers(canvas.page).move((found, found), steps=1)
    canvas.page.wait_for_url(re.compile(f"node={name}"))


def test_a_press_on_the_minimap_moves_the_picture_and_a_drag_follows(opened):
    page = painted(opened.path(ATTENTION, "graph"))
    page.locator(".graph-canvas").focus()
    for _ in range(4):
        page.keyboard.press("+")
    page.locator(".graph-minimap").wait_for()
    box = page.locator(".graph-minimap").bounding_box()
    picture = "document.querySelector('.graph-canvas').toDataURL()"
    seen = [page.evaluate(picture)]
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 12)
    page.mouse.down()
    page.wait_for_function(f"(before) => {picture} !== before", arg=seen[-1])
    seen.append(page.evaluate(picture))
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 12, steps=4)
    page.wait_for_function(f"(before) => {picture} !== before", arg=seen[-1])
    page.mouse.up()


def test_keys_zoom_fit_and_center(canvas):
    page, x, y = canvas.page, *canvas.middle
    before = canvas.right_of(NODE)
    canvas.element.focus()
    page.keyboard.press("+")
    assert canvas.right_of(NODE) > before
    page.keyboard.press("-")
    page.keyboard.press("-")
    assert canvas.right_of(NODE) < before
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert canvas.under(x, y) != NODE
    page.keyboard.press("f")
    assert canvas.under(x, y) == NODE
    page.keyboard.press("0")
    page.wait_for_function("() => document.querySelector('.graph-minimap').hidden")


def test_enter_opens_the_selected_box_and_o_opens_what_it_calls(opened, ui):
    path = path_of("keras_lstm")
    graph = ui.graph(ui.open(path))
    call = graph["names"][graph["calls"][0]["node"]]
    page = painted(opened.path(path, "graph", graph="main", node=call))
    row = page.locator("[role=treeitem][aria-selected=true]")
    row.wait_for()
    page.locator(".graph-canvas").focus()
    before = row.get_attribute("aria-expanded")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "(before) => document.querySelector('[role=treeitem][aria-selected=true]')?.ariaExpanded !== before",
        arg=before,
    )
    page.keyboard.press("o")
    page.wait_for_url(re.compile(rf"graph={graph['calls'][0]['graphs'][0]}\b"))


def test_a_dense_scope_that_is_opened_keeps_a_box_in_view(opened, sample_folder):
    opened.page.emulate_media(reduced_motion="reduce")
    page = painted(opened.path(sample_folder / "dense_scope.pb", "graph", graph="main"))
    page.get_by_role("button", name="Collapse all").click()
    scope = page.get_by_role("treeitem", name=re.compile("^s "))
    page.get_by_role("treeitem", expanded=True).wait_for(state="detached")
    scope.click()
    page.keyboard.press("ArrowRight")
    page.get_by_role("treeitem", expanded=True).wait_for()
    canvas = GraphCanvas(page)
    box = canvas.element.bounding_box()
    steps = [
        (box["x"] + right, box["y"] + down) for down in range(10, 800, 20) for right in range(10, 1100, 40)
    ]
    assert any(canvas.under(*place).startswith("s/") for place in steps)


def test_the_address_of_a_node_leads_back_to_it(opened, ui):
    path = path_of("keras_lstm")
    id = ui.open(path)
    loops = [g["id"] for g in ui.get(f"/models/{id}/graphs").json["graphs"] if g["kind"] == "loop"]
    inner = ui.graph(id, loops[-1])
    name = inner["names"][len(inner["names"]) // 2]
    page = painted(opened.path(path, "graph"))
    page.get_by_role("searchbox", name=re.compile("Search nodes")).fill(f"name:{name}")
    page.locator("[role=option]", has_text=name.rpartition("/")[2]).first.click()
    page.wait_for_url(re.compile("node=.*open="))  # the scopes around the node are open once they are placed
    selected = page.locator("[role=treeitem][aria-selected=true]")
    page.get_by_role("searchbox", name=re.compile("Search nodes")).fill("")
    selected.wait_for()
    address, text = page.url, selected.inner_text()
    page.reload()
    painted(page)
    selected.wait_for()
    assert (page.url, selected.inner_text()) == (address, text)
    assert page.locator(".node-name").inner_text() in unquote_plus(address)


def test_a_finding_colors_its_nodes_until_the_colors_are_cleared(opened):
    page = opened.path(ATTENTION, "verdicts")
    page.get_by_role("combobox", name="Targets").fill("tensorflow==1.13.2")
    page.keyboard.press("Enter")
    result = page.get_by_role("region", name=re.compile("^Result for"))
    result.get_by_role("button", name=re.compile("Show .* in the graph")).last.click()
    painted(page)
    canvas = GraphCanvas(page)
    page.get_by_role("button", name="Clear the colors").wait_for()
    assert canvas.pixels("--graph-bad") > 100
    page.get_by_role("button", name="Clear the colors").click()
    page.get_by_role("button", name="Clear the colors").wait_for(state="detached")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert canvas.pixels("--graph-bad") == 0


def test_a_profile_colors_the_graph_by_heat(opened):
    page = opened.path(ATTENTION, "profile")
    page.get_by_role("button", name="Profile", exact=True).click()
    page.locator(".parts").wait_for(timeout=120_000)
    page.get_by_role("button", name="Color the graph").click()
    painted(page)
    page.get_by_text("Time per node").wait_for()
    canvas = GraphCanvas(page)
    assert sum(canvas.pixels(f"--graph-heat-{k}") > 200 for k in range(6)) >= 2
