"""Names and values from a model are text: they never become markup, and never break the layout."""

import pytest
from tests.browser.sample_models import BACKWARDS, LONG, MARKUP, NAMES
from tests.browser.views import TABS, settled

MADE = "document.querySelectorAll('img, iframe, object, embed, body script:not([src])').length"


def assert_is_intact(opened):
    assert opened.page.title() != "broken"
    assert opened.page.evaluate(MADE) == 0
    assert not opened.scrolls_sideways


@pytest.mark.parametrize("tab", TABS)
def test_no_view_makes_markup_of_names(opened, sample_folder, tab):
    settled(opened.path(sample_folder / "hostile.pb", tab))
    assert_is_intact(opened)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:12]))
@pytest.mark.parametrize("width", [1400, 800])
def test_the_panel_shows_a_node_of_any_name(opened, sample_folder, name, width):
    opened.resize(width)
    page = settled(opened.path(sample_folder / "hostile.pb", "graph", graph="main", node=name))
    panel = page.get_by_role("complementary", name="Selected node")
    panel.get_by_role("heading", name="Attributes").wait_for()
    title = panel.locator(".node-name")
    assert title.inner_text().replace("\\u202e", "\u202e").replace("\\u0007", "\u0007") == name
    assert title.bounding_box()["height"] < 150
    assert MARKUP in panel.inner_text()
    assert_is_intact(opened)


def test_invisible_characters_are_spelled_out(opened, sample_folder):
    page = settled(opened.path(sample_folder / "hostile.pb", "graph", graph="main", node=BACKWARDS))
    assert page.locator(".node-name").inner_text() == "abc\\u202edef\\u0007"


def test_an_op_of_any_name_has_a_panel(opened, sample_folder):
    page = settled(opened.path(sample_folder / "hostile.pb", "ops", op=f"Custom{MARKUP}"))
    page.get_by_text("No recorded release and no recorded add-on registers this op.").wait_for()
    assert_is_intact(opened)


def test_an_address_of_any_text_is_text(opened):
    page = opened.go(f"/model/{'%3Cimg%20src%3Dx%20onerror%3Ddocument.title%3D1%3E'}/overview")
    page.get_by_role("alert").last.wait_for()
    assert_is_intact(opened)


def test_a_target_of_any_text_is_text(opened, sample_folder):
    page = settled(opened.path(sample_folder / "hostile.pb", "verdicts", target=MARKUP + LONG[:3000]))
    page.locator(".problem").first.wait_for()
    assert_is_intact(opened)
