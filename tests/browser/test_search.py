"""The search box of every graph view: by name, op, type, attribute and finding, with and without a server."""

import re

import pytest
from tests.browser.opened_page import OpenedPage
from tests.browser.test_graph_view import painted
from tests.browser.views import ATTENTION, TFLITE
from tests.recorded_models import path_of

import tfport
from tfport.web.pages import check_page, inspect_page

OLD = "tensorflow==1.13.2"
QUERIES = {
    "op:BatchMatMulV2": {"BatchMatMulV2"},
    "dtype:int64": None,
    "attr:adj_y=true": {"BatchMatMulV2"},
    "attr:adj_y=true -op:BatchMatMulV2": set(),
    "name:MatMul": {"BatchMatMulV2", "MatMul"},
    "batchmatmul": {"BatchMatMulV2"},
}
"""What to type, and the ops of what is found; None for several."""


def results(page, query):
    """The ops of the nodes that a query finds; and what the page says about their number."""
    box = page.get_by_role("searchbox", name=re.compile("Search nodes"))
    box.fill("name:nothing-has-this-name")
    page.locator(".graph-side .count", has_text="No nodes").wait_for()
    box.fill(query)
    count = page.locator(".graph-side .count")
    if (expected := QUERIES.get(query, {""})) is None or expected:
        page.locator("[role=option]").first.wait_for()
    return {op.strip() for op in page.locator("[role=option] .more").all_inner_texts()}, count.inner_text()


def check_queries(page):
    for query, ops in QUERIES.items():
        found, said = results(page, query)
        if ops is None:
            assert re.match(r"\d+ nodes?", said), query
        else:
            assert found == ops, query


@pytest.fixture
def static(chromium, tmp_path):
    """Opens a page of one file."""
    opened = OpenedPage(chromium)

    def show(html, place=""):
        (tmp_path / "page.html").write_text(html, encoding="utf-8")
        opened.page.goto((tmp_path / "page.html").as_uri() + place)
        return opened.page

    yield show
    opened.close()
    assert opened.complaints == []


def test_the_graph_of_the_server(opened):
    page = painted(opened.path(ATTENTION, "graph"))
    check_queries(page)


def test_findings_are_found_after_a_check(opened):
    page = painted(opened.path(ATTENTION, "graph"))
    box = page.get_by_role("searchbox", name=re.compile("Search nodes"))
    box.fill("finding:TFP101")
    page.locator(".graph-side .count", has_text="Verdicts").wait_for()
    page.get_by_role("link", name="Verdicts").click()
    page.get_by_role("combobox", name="Targets").fill(OLD)
    page.keyboard.press("Enter")
    page.get_by_role("region", name=re.compile("^Result for")).wait_for()
    page.get_by_role("link", name="Graph").click()
    painted(page)
    assert results(page, "finding:TFP101")[0] == {"BatchMatMulV2"}
    assert results(page, "finding:tfp1 attr:adj_y=true")[0] == {"BatchMatMulV2"}


def test_operators_of_a_tflite_file(opened):
    page = painted(opened.path(TFLITE, "graph"))
    found, _ = results(page, "attr:padding=SAME")
    assert found
    assert all(op.endswith("CONV_2D") for op in found)


def test_layers_of_a_keras_file(opened, sample_folder):
    page = painted(opened.path(sample_folder / "small.h5", "graph"))
    assert results(page, "attr:activation=relu")[0] == {"Dense"}
    assert results(page, "op:Dense")[0] == {"Dense"}


def test_both_sides_of_a_comparison(opened, ui):
    a, b = ui.open(ATTENTION), ui.open(path_of("half_plus_two"))
    page = opened.go(f"/compare?a={a}&b={b}")
    for side in range(2):
        frame = page.locator(".graph-frame").nth(side)
        frame.get_by_role("button", name="Search and outline").click()
        frame.get_by_role("searchbox").fill("attr:T=float")
        frame.locator("[role=option]").first.wait_for()
        frame.get_by_role("searchbox").fill("finding:TFP101")
        frame.locator(".count", has_text="Verdicts").wait_for()


def test_a_static_check(static):
    model = tfport.load(str(ATTENTION))
    html = check_page(tfport.check(model, OLD))
    page = painted(static(html, "#/model/model/graph"))
    check_queries(page)
    assert results(page, "finding:TFP101")[0] == {"BatchMatMulV2"}
    page.locator("[role=option]").first.click()
    panel = page.get_by_role("complementary", name="Selected node")
    panel.get_by_role("heading", name="Attributes").wait_for()
    assert "adj_y" in panel.inner_text()


def test_a_static_inspection(static):
    model = tfport.load(str(ATTENTION))
    page = painted(static(inspect_page(tfport.inspect(model), model), "#/model/model/graph"))
    check_queries(page)
