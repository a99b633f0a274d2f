"""Pages beside recorded ones: how they look at two widths, light and dark, and their structure.

`TFPORT_RECORD_PAGES=1 pytest tests/browser/test_pictures.py` records them again after an intended change.
"""

import os
from pathlib import Path

import pytest
from PIL import Image
from tests.browser.fixed_page import (
    MOST_DIFFERENT,
    different_part,
    fix_page,
    picture,
    side_by_side,
    structure,
)
from tests.browser.opened_page import OpenedPage
from tests.browser.views import ATTENTION, TFLITE, settled

FOLDER = Path(__file__).parent / "pictures"
RECORDS = bool(os.environ.get("TFPORT_RECORD_PAGES"))
LOOKS = [(1400, "light"), (800, "light"), (1400, "dark")]
PAGES = {
    "landing": "/",
    "explain": "/explain",
    "overview": (ATTENTION, "overview"),
    "overview_lite": (TFLITE, "overview"),
    "graph": (ATTENTION, "graph"),
    "graph_lite": (TFLITE, "graph"),
    "ops": (ATTENTION, "ops"),
    "tensors": (ATTENTION, "tensors"),
    "verdicts": (ATTENTION, "verdicts"),
    "fix": (ATTENTION, "fix"),
    "profile": (ATTENTION, "profile"),
}
"""An address, or a model and a tab."""


def show(opened, name):
    where = PAGES[name]
    fix_page(opened, hide_models=isinstance(where, str))
    page = settled(opened.go(where) if isinstance(where, str) else opened.path(*where))
    if "overview" in name:
        page.get_by_role("region", name="Where it runs").wait_for()
    if "graph" in name:
        page.wait_for_function("() => performance.getEntriesByName('tfport-graph-painted').length > 0")
        page.get_by_role("treeitem").first.wait_for()
    return page


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_as_recorded(opened, name):
    page = show(opened, name)
    pictures, texts = [], []
    for width, scheme in LOOKS:
        opened.resize(width)
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        pictures.append(picture(page))
        if scheme == "light":
            texts.append(f"{width} pixels:\n{structure(page)}")
    seen, text = side_by_side(pictures), "\n".join(texts)
    if RECORDS:
        FOLDER.mkdir(exist_ok=True)
        seen.save(FOLDER / f"{name}.png", optimize=True)
        (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")
    assert text == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    part = different_part(seen, Image.open(FOLDER / f"{name}.png").convert("RGB"))
    assert part <= MOST_DIFFERENT, f"{part:.1%} of the page look different"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("overview", "main { padding-top: 40px !important; }"),
        ("overview", ":root { --accent: #c00000 !important; }"),
        ("graph", ".graph-side { width: 300px !important; }"),
        ("graph", ".graph-tools { display: none; }"),
        ("verdicts", ":root { --runs: #2060d0 !important; }"),
    ],
)
def test_a_change_is_noticed(chromium, ui, name, change):
    """So that the comparison is known to fail where it should."""
    seen = []
    for style in ("", change):
        opened = OpenedPage(chromium, ui)
        page = show(opened, name)
        page.evaluate(
            """(text) => {
              const sheet = new CSSStyleSheet();
              sheet.replaceSync(text);
              document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
            }""",
            style,
        )
        seen.append(picture(page))
        opened.close()
    assert different_part(*seen) > MOST_DIFFERENT
