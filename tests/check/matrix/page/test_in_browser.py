"""The page in a real browser: what its script does, what works without it, and that no other script runs.

The page is in a frame; a page around it acts like a user and records what is visible.
"""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest
from tests.check.matrix.page.test_page import EVIL, hostile
from tests.recorded_models import shared

from tfport.check.matrix.matrix import Matrix, matrix_of
from tfport.check.matrix.page.page import write_page

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium on this machine: apt-get install chromium"
)
FRAME = """<iframe id="f" src="page.html" width="1280" height="900" {sandbox}></iframe><pre id="seen"></pre>
<script>
addEventListener("load", () => {{
  const inner = document.getElementById("f").contentWindow, page = inner.document;
  const shown = () => [...page.querySelectorAll(".strip")].filter((s) => !s.hidden);
  const bars = () => [...shown()[0].querySelectorAll("td > a")];
  const tip = page.querySelector(".tip");
  const seen = (() => {{ {act} }})();
  document.getElementById("seen").textContent = JSON.stringify(seen);
}});
</script>
"""


def seen(matrix: Matrix, folder, act: str, *, sandbox: str = ""):
    """What an action sees on the page."""
    write_page(matrix, folder / "page.html")
    (folder / "frame.html").write_text(FRAME.format(act=act, sandbox=sandbox))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [BROWSER, *flags, profile, "--dump-dom", (folder / "frame.html").as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    return json.loads(unescape(re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)[1]))


@pytest.fixture(scope="module")
def lstm() -> Matrix:
    return matrix_of(shared("keras_lstm"))


def test_one_table_is_shown_and_controls_select_another(lstm, tmp_path):
    act = """
      const before = shown().map((s) => s.querySelector("h2").textContent);
      page.querySelector("input[value=serving]").click();
      return [before, shown().map((s) => s.querySelector("h2").textContent)];
    """
    assert seen(lstm, tmp_path, act) == [["python"], ["serving"]]


def test_hover_focus_and_tap_explain_a_bar(lstm, tmp_path):
    act = """
      const said = [];
      const note = () => said.push(tip.hidden ? "" : tip.querySelector("h3").textContent);
      const bar = bars().find((b) => b.closest("tr").textContent.includes("SelectV2"));
      bar.dispatchEvent(new MouseEvent("mouseenter")); note();
      bar.dispatchEvent(new MouseEvent("mouseleave")); note();
      bar.dispatchEvent(new FocusEvent("focus")); note();
      bar.dispatchEvent(new FocusEvent("blur")); note();
      bar.click(); note();
      bar.dispatchEvent(new MouseEvent("mouseleave")); note();
      inner.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"})); note();
      return said;
    """
    words = "SelectV2 TFP101 unregistered-op"
    assert seen(lstm, tmp_path, act) == [words, "", words, "", words, words, ""]


def test_bars_can_be_reached_by_keyboard_and_have_a_name(lstm, tmp_path):
    act = "return bars().filter((b) => b.tabIndex < 0 || !b.getAttribute('aria-label')).length"
    assert seen(lstm, tmp_path, act) == 0


def test_without_scripts_all_tables_and_cards_are_shown(lstm, tmp_path):
    act = """
      const tall = (e) => e.getBoundingClientRect().height > 0;
      return [page.querySelectorAll(".strip").length === shown().filter(tall).length,
              [...page.querySelectorAll("article")].every(tall), tall(page.querySelector(".switches"))];
    """
    assert seen(lstm, tmp_path, act, sandbox='sandbox="allow-same-origin"') == [True, True, False]


def test_no_script_of_a_model_runs(tmp_path):
    act = "return [page.title, page.scripts.length, page.images.length]"
    assert seen(hostile(), tmp_path, act) == [f"{EVIL}: where it runs", 1, 0]


def test_an_injected_script_does_not_run(lstm, tmp_path):
    act = """
      const script = page.createElement("script");
      script.textContent = "document.title = 'broken'";
      page.body.append(script);
      return page.title.includes("broken");
    """
    assert seen(lstm, tmp_path, act) is False
