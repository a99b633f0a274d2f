"""Everything can be reached and done with the keyboard."""

import re

from tests.browser.views import ATTENTION, settled


def focused(page):
    """The accessible name of the focused element, or its text."""
    return page.evaluate("document.activeElement.ariaLabel || document.activeElement.innerText || ''").strip()


def test_tab_reaches_the_header_the_tabs_and_the_content_in_order(opened):
    page = settled(opened.path(ATTENTION))
    stops = []
    for _ in range(14):
        page.keyboard.press("Tab")
        stops.append(focused(page))
    assert stops[0] == "Skip to the content"
    tabs = ["Overview", "Graph", "Ops", "Tensors", "Verdicts", "Fix", "Profile"]
    start = stops.index("Overview")
    assert stops[start : start + 7] == tabs


def test_the_first_stop_skips_to_the_content(opened):
    page = settled(opened.path(ATTENTION))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_numbers_open_tabs_and_slash_the_filter(opened):
    page = settled(opened.path(ATTENTION))
    page.keyboard.press("3")
    page.wait_for_url(re.compile("/ops$"))
    page.get_by_role("searchbox", name="Filter ops").wait_for()
    page.keyboard.press("/")
    assert focused(page) == "Filter ops"
    page.keyboard.type("soft1")
    assert page.get_by_role("searchbox", name="Filter ops").input_value() == "soft1"
    page.keyboard.press("Escape")
    assert page.get_by_role("searchbox", name="Filter ops").input_value() == ""


def test_a_question_mark_shows_the_keys_and_escape_closes_them(opened):
    page = settled(opened.path(ATTENTION))
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("dialog", name="Keys").wait_for(state="detached")


def test_a_bar_of_the_matrix_opens_and_closes_by_keys(opened):
    page = settled(opened.path(ATTENTION, "verdicts"))
    page.locator(".matrix .bar.load").first.focus()
    page.keyboard.press("Enter")
    page.locator(".bar-details").wait_for()
    page.locator(".bar-details").get_by_role("button", name="Close").focus()
    page.keyboard.press("Escape")
    page.locator(".bar-details").wait_for(state="detached")


def test_targets_are_chosen_and_removed_by_keys(opened):
    page = settled(opened.path(ATTENTION, "verdicts"))
    page.keyboard.press("/")
    page.keyboard.type("tensorflow==2.8")
    options = page.get_by_role("option")
    options.first.wait_for()
    # those for what was typed before, whose replacement would end the choice
    options.filter(has_not_text="tensorflow==2.8").first.wait_for(state="detached")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    chip = page.get_by_role("button", name=re.compile("Remove tensorflow==2.8"))
    chip.focus()
    page.keyboard.press("Enter")
    chip.wait_for(state="detached")
