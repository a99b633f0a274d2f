"""Light and dark, and accessibility."""

import pytest
from tests.browser.opened_page import AXE
from tests.browser.views import ATTENTION, TABS, settled

ADDRESSES = {"landing": "/", "explain": "/explain", "compare": "/compare"}
BRIGHTNESS = """() => {
  const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
  return (r + g + b) / 3;
}"""


def test_the_page_follows_the_system_and_the_switch(opened):
    opened.page.emulate_media(color_scheme="dark")
    page = settled(opened.path(ATTENTION))
    assert page.evaluate(BRIGHTNESS) < 60
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"() => ({BRIGHTNESS})() > 200")
    button = page.get_by_role("button", name="Theme")
    button.click()  # light
    button.click()  # dark
    page.wait_for_function(f"() => ({BRIGHTNESS})() < 60")
    page.reload()
    settled(page)
    assert page.evaluate(BRIGHTNESS) < 60


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make web/node_modules")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", [*ADDRESSES, *TABS])
def test_axe_finds_nothing_serious(opened, view, scheme):
    opened.page.emulate_media(color_scheme=scheme)
    page = opened.go(ADDRESSES[view]) if view in ADDRESSES else opened.path(ATTENTION, view)
    settled(page)
    assert opened.serious_violations() == []
