"""Addresses: what is seen is in them, they hold no secret, and they lead to the cause in one click."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.browser.opened_page import OpenedPage
from tests.browser.views import ATTENTION, TFLITE, settled
from tests.odd_names import odd_name
from tests.recorded_models import path_of
from tests.web.ui_client import TOKEN, running


def query(page):
    return parse_qs(urlsplit(page.url).fragment.partition("?")[2])


def test_the_overview_answers_first_and_leads_to_the_nodes_in_one_click(opened):
    page = opened.model("classifier")
    answer = page.get_by_role("region", name="Where it runs")
    answer.wait_for()
    assert "runs on TensorFlow 2.1.0 \u2013 2.21.0" in answer.inner_text()
    assert "fails at load before 2.1.0 because op ParseExampleV2 is not registered" in answer.inner_text()
    assert page.title() == "classifier · overview \u2013 tfport"
    answer.get_by_role("link", name="Show the node").click()
    panel = page.get_by_role("complementary", name="Selected node")
    panel.get_by_role("heading", name="ParseExample/ParseExampleV2").wait_for()
    assert query(page)["finding"] == ["TFP101 ParseExampleV2"]
    panel.get_by_text("TFP101").first.wait_for()


def test_an_address_works_in_a_new_tab_and_back_goes_node_by_node(opened):
    page = opened.model("classifier", "graph", target="tensorflow==2.0.4", finding="TFP101 ParseExampleV2")
    panel = page.get_by_role("complementary", name="Selected node")
    panel.get_by_role("heading", name="ParseExample/ParseExampleV2").wait_for()
    panel.get_by_role("button", name="input", exact=True).click()
    panel.get_by_role("heading", name="input", exact=True).wait_for()
    assert TOKEN not in page.url
    other = opened.context.new_page()  # the same browser has the cookie
    other.goto(page.url)
    other.get_by_role("heading", name="input", exact=True).wait_for()
    other.close()
    page.go_back()
    panel.get_by_role("heading", name="ParseExample/ParseExampleV2").wait_for()


def test_what_is_open_survives_a_reload(opened):
    page = settled(opened.model("keras_lstm", "graph"))
    page.get_by_role("button", name="Expand all").click()
    page.wait_for_url(re.compile("open="))
    before = query(page)["open"]
    page.reload()
    settled(page)
    page.get_by_role("treeitem", expanded=True).first.wait_for()
    assert query(page)["open"] == before


def test_another_browser_is_asked_for_the_token(chromium, ui, opened):
    address = settled(opened.model("classifier", "ops")).url
    stranger = OpenedPage(chromium, ui)
    stranger.page.goto(address)
    field = stranger.page.get_by_label("Token or address")
    field.fill("wrong")
    stranger.page.get_by_role("button", name="Open", exact=True).click()
    stranger.page.get_by_text("the token is missing or wrong").wait_for()
    field.fill(f"tfport ui: http://127.0.0.1:1/#token={TOKEN}&/")
    stranger.page.get_by_role("button", name="Open", exact=True).click()
    stranger.page.get_by_role("cell", name="ParseExampleV2").first.wait_for()
    (cookie,) = stranger.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    stranger.close()


def test_weights_of_a_keras_file_are_listed_shown_and_saved(opened, sample_folder):
    page = opened.path(sample_folder / "small.h5", "tensors")
    page.get_by_role("table").get_by_role("button").nth(4).click()
    page.get_by_role("img", name=re.compile("Histogram")).wait_for()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as .npy").click()
    assert saved.value.suggested_filename.endswith(".npy")


@pytest.mark.parametrize("kind", ["PNG", "SVG"])
def test_the_graph_is_saved_as_drawn(opened, sample_folder, tmp_path, kind):
    page = settled(opened.path(sample_folder / "hostile.pb", "graph"))
    with page.expect_download() as saved:
        page.get_by_role("button", name=kind).click()
    saved.value.save_as(tmp_path / "picture")
    content = (tmp_path / "picture").read_bytes()
    if kind == "PNG":
        assert content.startswith(b"\x89PNG")
    else:
        page.goto("about:blank")
        odd = "querySelectorAll('parsererror, script, image').length"
        parsed = f"text => new DOMParser().parseFromString(text, 'image/svg+xml').{odd}"
        assert page.evaluate(parsed, content.decode()) == 0


def test_a_name_that_tensorflow_refuses_is_drawn_and_is_a_finding(opened, sample_folder):
    odd_name(sample_folder / "colon.pb", ("Placeholder", "x"), ("Relu", "a:b"), ("Relu", "out"))
    page = opened.path(sample_folder / "colon.pb")
    page.get_by_role("link", name="Show the node").first.click()
    page.get_by_role("heading", name="a:b").wait_for()


def test_one_model_on_the_command_line_is_opened(chromium):
    with running(models=(path_of("classifier"),)) as client:
        opened = OpenedPage(chromium, client)
        opened.page.goto(client.address)
        opened.page.get_by_role("region", name="Where it runs").wait_for()
        opened.close()


def test_search_goes_on_with_n_wherever_the_focus_is(opened):
    page = opened.model("keras_lstm", "graph")
    page.get_by_role("searchbox", name=re.compile("Search nodes")).wait_for()
    page.keyboard.press("/")
    page.keyboard.type("op:Const")
    page.get_by_text(re.compile(r"^\d+ nodes")).wait_for()
    page.keyboard.press("Enter")
    page.get_by_text(re.compile(r"^1 of \d+ nodes")).wait_for()
    page.get_by_role("complementary", name="Selected node").get_by_role("heading").first.click()
    page.keyboard.press("n")
    page.get_by_text(re.compile(r"^2 of \d+ nodes")).wait_for()
    page.keyboard.press("N")
    page.get_by_text(re.compile(r"^1 of \d+ nodes")).wait_for()


def test_on_a_phone_the_name_stays_and_the_panel_leaves_the_node_in_view(opened):
    opened.resize(390, 844)
    page = opened.model("classifier", "graph", node="ParseExample/ParseExampleV2", graph="main")
    panel = page.get_by_role("complementary", name="Selected node")
    panel.wait_for()
    canvas = page.locator("canvas.graph-canvas").bounding_box()
    assert canvas["y"] + canvas["height"] <= panel.bounding_box()["y"] + 1
    assert page.get_by_label("What to show").bounding_box()["width"] > 100
    assert page.get_by_role("heading", name="classifier", exact=True).is_visible()
    page = opened.model("classifier", "verdicts")
    green = page.locator(".verdict .bar.runs").first
    green.wait_for()
    box = green.bounding_box()
    assert box["x"] < 390
    assert not opened.scrolls_sideways
    page = settled(opened.model("keras_lstm", "tensors"))
    names = page.get_by_role("region", name="Stored tensors").locator("bdi.one-line").all()
    assert names
    assert not any(name.evaluate("name => name.scrollWidth > name.clientWidth + 1") for name in names)
    page = settled(opened.model("classifier", "profile"))
    box = page.get_by_role("link", name="Profile", exact=True).bounding_box()
    assert box["x"] + box["width"] <= 391  # of a fraction of a pixel


def test_a_finding_of_both_loaders_is_listed_once(opened):
    finding = "TFP201 StatefulPartitionedCall config_proto"
    page = opened.model("keras_lstm", "graph", target="tensorflow==1.12.3", finding=finding)
    panel = page.get_by_role("complementary", name="Selected node")
    panel.get_by_text("TFP201").first.wait_for()
    assert panel.get_by_text("TFP201").count() == 1
    assert page.get_by_text("TFP201 StatefulPartitionedCall.config_proto").count() == 1


def test_a_finding_has_one_count(opened):
    page = opened.model("keras_lstm", "verdicts", target="tensorflow==2.1.4")
    page.locator(".finding").first.wait_for()
    counts = []
    for finding in page.locator(".results .finding").all():
        finding.evaluate("card => card.open = true")
        shown = finding.locator(".nodes > span").count()
        more = re.search(r"and (\d+) more node", finding.inner_text())
        said = re.search(r"Show (\d+) nodes in the graph", finding.inner_text())
        if said:
            counts.append(int(said[1]))
            assert shown + int(more[1] if more else 0) == counts[-1]
    assert max(counts) > 4


def test_the_chosen_bar_of_the_matrix_survives_a_reload(opened):
    page = opened.path(ATTENTION, "verdicts")
    page.get_by_role("button", name=re.compile("BatchMatMulV2, .*fails")).first.click()
    title = page.locator(".bar-details h3").inner_text()
    page.reload()
    assert page.locator(".bar-details h3").inner_text() == title
    page.locator(".bar-details").get_by_role("button", name=re.compile("^Check ")).click()
    page.get_by_role("region", name=re.compile("^Result for")).wait_for()
    assert page.locator(".bar-details h3").inner_text() == title
    page.locator(".bar-details").get_by_role("button", name="Close").click()
    page.locator(".bar-details").wait_for(state="detached")
    assert "release=" not in page.url


def test_the_function_and_node_of_a_comparison_survive_a_reload(opened, ui):
    a, b = ui.open(path_of("half_plus_two_tf2")), ui.open(path_of("half_plus_three"))
    page = opened.go(f"/compare?a={a}&b={b}")
    graphs = page.get_by_role("region", name="Graphs side by side")
    choice = graphs.get_by_role("combobox").first
    chosen = choice.locator("option").nth(1).get_attribute("value")
    choice.select_option(chosen)
    page.wait_for_url(re.compile(f"graph_a={chosen}"))
    graphs.get_by_role("region", name="Nodes that differ").locator("tbody button").first.click()
    selected = graphs.get_by_text(re.compile("^Selected: ")).inner_text()
    page.reload()
    assert graphs.get_by_text(re.compile("^Selected: ")).inner_text() == selected
    assert choice.input_value() == chosen


def test_models_with_layers_or_operators_are_compared_by_their_graphs(opened, ui, sample_folder):
    a, b = ui.open(sample_folder / "small.h5"), ui.open(TFLITE)
    page = opened.go(f"/compare?a={a}&b={b}")
    graphs = page.get_by_role("region", name="Graphs side by side")
    graphs.get_by_role("region", name="Nodes that differ").wait_for()
    assert not graphs.get_by_text("only those can be compared").count()


def test_a_cause_in_a_keras_file_leads_to_the_verdict_of_its_release(opened, ui, sample_folder):
    page = opened.path(sample_folder / "small.h5")
    page.get_by_role("region", name="Where it runs").get_by_role("link").first.click()
    page.get_by_role("region", name=re.compile("^Result for")).locator(".finding").first.wait_for()
    assert "target" in query(page)
