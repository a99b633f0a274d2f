"""Pages without what differs between machines: fonts, paths, and models that other tests opened."""

from __future__ import annotations

import base64
import io
import re
from typing import Any

from PIL import Image, ImageChops
from tests.browser.block_font import FONT
from tests.browser.opened_page import OpenedPage
from tests.browser.views import EXAMPLES

SCRIPT = """
const bytes = Uint8Array.from(atob('FONT'), (letter) => letter.charCodeAt(0));
document.fonts.add(new FontFace('Blocks', bytes.buffer));
const sheet = new CSSStyleSheet();
sheet.replaceSync(`
  :root { --sans: Blocks !important; --mono: Blocks !important; }
  *, *::before, *::after { font-family: Blocks !important; font-style: normal !important; }
  * { scrollbar-width: none !important; }
`);
document.adoptedStyleSheets = [sheet];
"""
PIXELS = 10
"""Pictures are compared by squares of so many pixels: smaller things differ between releases of a browser."""
MOST_PICTURES = 20
LARGEST_DIFFERENCE, MOST_DIFFERENT = 10, 0.001
"""A square differs if one of its colors does by more than so much; pictures, if more than this part does."""
TEMPORARY = re.compile(r'("path": ?")[^"]*/tfport-[^"/]*/(?:[^"/]*/)*')
IDS = re.compile(r"#/model/\w+")


def fix_page(opened: OpenedPage, *, hide_models: bool = False) -> None:
    """From now on, the page of a test looks the same everywhere; `hide_models` is for the first page."""
    opened.page.add_init_script(SCRIPT.replace("FONT", base64.b64encode(FONT.read_bytes()).decode()))
    opened.page.emulate_media(reduced_motion="reduce")
    opened.page.route("**/api/v1/**", _with_fixed_paths)
    if hide_models:
        opened.page.route("**/api/v1/models", lambda route: route.fulfill(json={"version": 1, "models": []}))


def _with_fixed_paths(route: Any) -> None:
    response = route.fetch()
    text = response.text().replace(str(EXAMPLES), "/models")
    route.fulfill(response=response, body=TEMPORARY.sub(r"\1/examples/", text))


def structure(page: Any) -> str:
    """The roles, names and states on a page."""
    return IDS.sub("#/model/ID", page.locator("main").aria_snapshot()) + "\n"


def picture(page: Any) -> Image.Image:
    """What the page looks like, by squares, once two pictures in a row are equal: some are painted late."""
    page.evaluate("() => document.fonts.ready.then(() => true)")
    seen = _picture(page)
    for _ in range(MOST_PICTURES):
        before, seen = seen, _picture(page)
        if seen.tobytes() == before.tobytes():
            break
    return seen


def _picture(page: Any) -> Image.Image:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    image = Image.open(io.BytesIO(page.screenshot(animations="disabled", caret="hide"))).convert("RGB")
    return image.resize((image.width // PIXELS, image.height // PIXELS), Image.Resampling.BOX)


def side_by_side(images: list[Image.Image]) -> Image.Image:
    whole = Image.new("RGB", (sum(image.width for image in images), max(image.height for image in images)))
    left = 0
    for image in images:
        whole.paste(image, (left, 0))
        left += image.width
    return whole


def different_part(a: Image.Image, b: Image.Image) -> float:
    """The part of the squares of two pictures that differ."""
    if a.size != b.size:
        return 1.0
    bands = ImageChops.difference(a, b).split()
    largest = ImageChops.lighter(ImageChops.lighter(bands[0], bands[1]), bands[2])
    counts = largest.histogram()
    return sum(counts[LARGEST_DIFFERENCE + 1 :]) / (a.width * a.height)
