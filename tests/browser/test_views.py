"""Each view of real models in a real browser: what it shows, and that it fits into its window."""

import re
from urllib.parse import unquote_plus

import pytest
from tests.browser.views import ATTENTION, EXAMPLES, TABS, TFLITE, settled
from tests.recorded_models import path_of


def node_of(ui, path, op):
    """The name of the first node of an op in the main graph of a model."""
    graph = ui.graph(ui.open(path))
    return graph["names"][graph["op"].index(graph["ops"].index(op))]


def test_the_first_page_opens_a_model_by_its_path(opened):
    page = opened.go()
    page.get_by_role("heading", name="Will this model run there?").wait_for()
    page.get_by_role("combobox", name="Or a path on this machine").fill(str(ATTENTION))
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"#/model/\w+/overview$"))
    page.get_by_role("heading", name="attention").wait_for()


def test_the_first_page_completes_paths_with_the_keyboard(opened):
    page = opened.go()
    field = page.get_by_role("combobox", name="Or a path on this machine")
    field.fill(str(EXAMPLES) + "/wake")
    page.get_by_role("option", name=re.compile("wake_word.tflite")).wait_for()
    field.press("ArrowDown")
    field.press("Enter")
    page.get_by_role("heading", name="wake_word.tflite").wait_for()


def test_a_chosen_file_is_copied_and_opened(opened):
    page = opened.go()
    page.get_by_label("Choose a file").set_input_files(str(TFLITE))
    page.get_by_role("heading", name="wake_word.tflite").wait_for()


def test_a_path_that_is_not_allowed_is_refused_in_a_sentence(opened):
    page = opened.go()
    page.get_by_role("combobox", name="Or a path on this machine").fill("/etc/passwd")
    page.keyboard.press("Enter")
    message = page.locator(".notice")
    message.wait_for()
    assert "/etc/passwd" in message.inner_text()
    page.get_by_role("button", name="Dismiss").click()
    message.wait_for(state="detached")


def test_a_truncated_model_is_refused_in_a_sentence(opened, sample_folder):
    page = opened.go()
    page.get_by_role("combobox", name="Or a path on this machine").fill(str(sample_folder / "truncated.pb"))
    page.keyboard.press("Enter")
    page.locator(".notice").wait_for()
    assert "truncated.pb" in page.locator(".notice").inner_text()


def test_the_overview_shows_signatures_with_types_and_shapes(opened):
    page = settled(opened.model("keras_functional"))
    card = page.locator(".signature", has_text="serving_default")
    assert "float32" in card.inner_text()
    assert page.locator("dl.facts", has_text="SavedModel").count() == 1


def test_the_overview_shows_the_first_lines_of_an_asset(opened):
    page = settled(opened.model("table_from_file"))
    assets = page.locator("section", has=page.get_by_role("heading", name="Assets"))
    assets.locator("summary").first.click()
    assets.locator("pre").wait_for()
    assert assets.locator("pre").inner_text().strip()
    page.get_by_role("heading", name="Tables").wait_for()


def test_the_overview_lists_layers_of_a_keras_file(opened, sample_folder):
    page = settled(opened.path(sample_folder / "small.h5"))
    table = page.get_by_role("region", name="Layers")
    assert "Dense" in table.inner_text()


def test_only_models_with_a_graph_def_have_its_version(opened, sample_folder):
    about = settled(opened.path(sample_folder / "small.h5")).get_by_role("region", name="About", exact=True)
    assert "GraphDef" not in about.inner_text()
    about = settled(opened.model("classifier")).get_by_role("region", name="About", exact=True)
    assert "GraphDef" in about.inner_text()


def test_the_overview_lists_operators_of_a_tflite_file(opened):
    page = settled(opened.path(TFLITE))
    page.get_by_role("heading", name="TensorFlow Lite").wait_for()
    assert page.get_by_role("region", name="Operators").locator("tbody tr").count() > 0


def test_the_overview_shows_what_a_model_could_do_and_where(opened, sample_folder):
    page = settled(opened.path(sample_folder / "reads_file"))
    scan = page.get_by_role("region", name="What it could do")
    assert "op ReadFile reads /etc/passwd when signature" in scan.inner_text().replace("`", "")
    assert "it leaves the machine with the answer" in scan.inner_text()
    below = scan.evaluate("card => card.compareDocumentPosition(document.querySelector('.signature')) & 4")
    assert below, "what could harm comes first"
    scan.get_by_role("button", name="Show the node in the graph").click()
    page.wait_for_url(re.compile("/graph[?]"))
    page.get_by_text("Scan findings").first.wait_for()


def test_the_overview_says_that_a_scan_found_nothing(opened):
    scan = settled(opened.path(ATTENTION)).get_by_role("region", name="What it could do")
    assert "Nothing found that touches files" in scan.inner_text()


def test_ops_sort_filter_and_show_their_history(opened):
    page = settled(opened.path(ATTENTION, "ops"))
    rows = page.get_by_role("region", name="Ops of the model").locator("tbody tr")
    counts = [int(text) for text in rows.locator("td:nth-child(2)").all_inner_texts()]
    assert counts == sorted(counts, reverse=True)
    page.get_by_role("button", name="op", exact=True).click()
    names = rows.locator("td:first-child").all_inner_texts()
    assert names == sorted(names, key=str.lower)
    page.get_by_role("searchbox", name="Filter ops").fill("BatchMatMul")
    rows.get_by_role("button", name=re.compile("BatchMatMul")).first.click()
    panel = page.get_by_role("complementary", name=re.compile("Op BatchMatMul"))
    panel.get_by_role("heading", name="tensorflow", exact=True).wait_for()
    assert "CPU" in panel.inner_text()


def test_ops_show_their_nodes_in_the_graph(opened):
    page = settled(opened.path(ATTENTION, "ops", op="BatchMatMulV2"))
    page.get_by_role("button", name="Show its nodes in the graph").click()
    page.wait_for_url(re.compile("/graph[?]"))
    panel = page.get_by_role("complementary", name="Selected node")
    panel.get_by_role("link", name="BatchMatMulV2").wait_for()


def test_tensors_have_statistics_and_values_on_demand(opened):
    page = settled(opened.model("keras_functional", "tensors"))
    region = page.get_by_role("region", name="Stored tensors")
    region.locator("tbody button").nth(1).click()
    page.get_by_label("First values").wait_for()
    page.get_by_role("button", name="Tree").click()
    page.locator(".tensor-tree").wait_for()


def test_verdicts_show_the_matrix_and_what_is_behind_a_bar(opened):
    page = opened.path(ATTENTION, "verdicts")
    page.get_by_role("heading", name="Where it runs").wait_for()
    page.get_by_role("button", name=re.compile("BatchMatMulV2, .*fails")).first.click()
    details = page.locator(".bar-details")
    details.get_by_text("the runtime says").wait_for()
    assert "Op type not registered 'BatchMatMulV2'" in details.locator("pre").first.inner_text()


def test_two_targets_stand_side_by_side_and_nodes_are_shown_in_the_graph(opened):
    page = settled(opened.path(ATTENTION, "verdicts"))
    field = page.get_by_role("combobox", name="Targets")
    for target in ("tensorflow==1.13.2", "tensorflow==2.8.4"):
        field.fill(target)
        field.press("Enter")
    results = page.get_by_role("region", name=re.compile("^Result for"))
    results.nth(1).wait_for()
    assert "fails" in results.first.inner_text()
    assert "runs" in results.last.inner_text()
    results.first.get_by_role("button", name=re.compile("Show .* in the graph")).last.click()
    page.wait_for_url(re.compile("/graph[?]"))
    page.get_by_role("complementary", name="Selected node").get_by_role("heading", name="Findings").wait_for()
    page.get_by_role("button", name="Clear the colors").click()


def test_a_node_has_a_shareable_address_and_leads_to_its_neighbors(opened, ui):
    node = node_of(ui, path_of("half_plus_two"), "AddV2")
    page = settled(opened.model("half_plus_two", "graph", graph="main", node=node))
    panel = page.get_by_role("complementary", name="Selected node")
    panel.get_by_role("heading", name="Inputs").wait_for()
    panel.locator(".ends-list button").first.click()
    page.wait_for_url(lambda url: node not in unquote_plus(url))
    panel.get_by_role("button", name="Close the panel").click()
    panel.wait_for(state="detached")


def test_a_log_is_explained(opened):
    page = opened.go("/explain")
    page.get_by_label("Log or error message").fill("Op type not registered 'BatchMatMulV3' in binary")
    page.get_by_role("button", name="Explain", exact=True).click()
    page.get_by_role("heading", name="unregistered op").wait_for()
    assert "2.6.0" in page.get_by_role("region", name="Explanations").inner_text()


def test_an_address_of_nowhere_says_so(opened):
    page = opened.go("/elsewhere")
    assert "no such page" in page.get_by_role("alert").last.inner_text()


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("width", [1400, 800])
def test_no_page_scrolls_sideways(opened, tab, width):
    opened.resize(width)
    settled(opened.path(ATTENTION, tab))
    assert not opened.scrolls_sideways
