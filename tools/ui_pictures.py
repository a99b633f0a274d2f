"""The pictures of `tfport ui` in the docs, taken from the running page with Chromium.

    python tools/real_models.py guesslang headpose
    python tools/ui_pictures.py [NAME…]     docs/images/ui_*.png except the overview, or those of these views

Needs `playwright`, and Chromium (`apt-get install chromium`).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from playwright.sync_api import Page, sync_playwright

from real_models import CACHE
from tfport.web.model_store import model_id

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/images"
ATTENTION = ROOT / "examples/attention"
GUESSLANG = CACHE / "guesslang-2.2.1/guesslang/data/model"
POSE = CACHE / "headpose-1.0.9/headpose/model/pose_model"
SIZE = {"width": 1400, "height": 860}
LIMIT_MS = 180_000
OLD = "tensorflow==1.13.2"


class View(NamedTuple):
    """A view of a model, and what is done there before the picture is taken."""

    model: Path
    tab: str
    targets: list[str]
    act: Callable[[Page], None]
    dark: bool = False


def show_findings(page: Page) -> None:
    page.get_by_role("button", name=re.compile("Show .* in the graph")).first.click()
    page.get_by_text("Findings on").wait_for()
    page.get_by_text("MatMul", exact=True).first.click()
    page.get_by_text("Attributes", exact=True).wait_for()


def wait_for_matrix(page: Page) -> None:
    page.wait_for_function("() => document.querySelector('main svg, main table')")


def wait_for_findings(page: Page) -> None:
    page.get_by_text("the runtime says").first.wait_for()
    page.get_by_role("heading", name="Check targets").scroll_into_view_if_needed()


def rewrite(page: Page) -> None:
    page.get_by_role("button", name="Rewrite", exact=True).click()
    page.get_by_text("its outputs agree").wait_for()
    heading = page.get_by_role("heading", name="Graphs", exact=True)
    heading.wait_for()
    heading.evaluate("element => element.scrollIntoView({block: 'start'})")


def profile(page: Page) -> None:
    page.get_by_role("button", name="Profile", exact=True).click()
    page.locator(".parts").wait_for()


VIEWS = {
    "graph": View(ATTENTION, "verdicts", [OLD], show_findings),
    "matrix": View(GUESSLANG, "verdicts", [], wait_for_matrix),
    "verdicts": View(ATTENTION, "verdicts", [OLD, "tensorflow==2.8.4"], wait_for_findings),
    "fix": View(ATTENTION, "fix", [OLD], rewrite),
    "profile": View(POSE, "profile", [], profile, dark=True),
}


def take(page: Page, printed: str, view: View, picture: Path) -> None:
    query = f"?{urlencode({'target': view.targets}, doseq=True)}" if view.targets else ""
    page.goto(f"{printed}&/model/{model_id(os.path.realpath(view.model))}/{view.tab}{query}")
    page.wait_for_selector("main > *")
    page.wait_for_function("() => !document.querySelector('.loading')")
    view.act(page)
    page.wait_for_timeout(1000)  # animations
    page.screenshot(path=str(picture))
    print(f"{picture}: {picture.stat().st_size / 1000:.0f} kB")


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(VIEWS))
    parser.add_argument("--to", type=Path, default=IMAGES, metavar="FOLDER")
    args = parser.parse_args()
    if unknown := set(args.names) - VIEWS.keys():
        parser.error(f"no such view: {', '.join(sorted(unknown))}")
    chosen = {name: VIEWS[name] for name in args.names or VIEWS}
    models = list(dict.fromkeys(str(view.model) for view in chosen.values()))
    command = [sys.executable, "-m", "tfport", "ui", "--no-browser", *models]
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"XDG_CACHE_HOME": cache}
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
        try:
            assert server.stderr is not None
            printed = server.stderr.readline().rpartition(" ")[2].strip()
            with sync_playwright() as driver:
                browser = driver.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                )
                for name, view in chosen.items():
                    scheme = "dark" if view.dark else "light"
                    context = browser.new_context(viewport=SIZE, color_scheme=scheme)
                    context.set_default_timeout(LIMIT_MS)
                    take(context.new_page(), printed, view, args.to / f"ui_{name}.png")
                    context.close()
                browser.close()
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
