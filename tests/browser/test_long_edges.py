"""Edges that are too long to be drawn: a dot at each end, which leads to the other."""

from urllib.parse import parse_qs

from tests.browser.sample_models import CHAIN, chain_name
from tests.browser.test_graph_view import painted


def selected(page):
    """The node in the address of the page."""
    return parse_qs(page.url.partition("?")[2]).get("node", [""])[0]


def dot_of_selected(page):
    """Where below the box in the middle of the canvas the pointer is over a dot."""
    box = page.locator(".graph-canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for down in range(20, 60, 4):
        for right in range(0, 120, 4):
            page.mouse.move(x + right, y + down)
            if "click to go there" in page.locator(".graph-canvas").evaluate("(canvas) => canvas.title"):
                return x + right, y + down
    raise AssertionError("there is no dot below the selected box")


def test_a_click_on_the_dot_leads_to_the_other_end(opened, sample_folder):
    opened.page.emulate_media(reduced_motion="reduce")  # the camera is there at once
    path = sample_folder / "long_edges.pb"
    page = painted(opened.path(path, "graph", graph="main", node=chain_name(0)))
    page.locator("[role=treeitem][aria-selected=true]").wait_for()
    page.mouse.click(*dot_of_selected(page))
    page.wait_for_function(f"() => location.hash.includes('node={chain_name(CHAIN - 1)}')")
    assert selected(page) == chain_name(CHAIN - 1)
