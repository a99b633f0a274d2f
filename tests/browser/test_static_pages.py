"""Static pages in a real browser: what is visible, and that no name of a model becomes markup or a script."""

import re
import shutil
import subprocess
from html import unescape

import pytest
from tests.recorded_models import graph, load, shared
from tests.static_page.embedded import EVIL, StaticPage

import tfport
from tfport.matrix.matrix import matrix_of
from tfport.web.pages import check_page, inspect_page, matrix_page

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium on this machine: apt-get install chromium"
)
ELEMENTS = re.compile(r"<script.*?</script>|<style.*?</style>|<noscript.*?</noscript>", re.DOTALL)


class Shown:
    """The document of a page after its script ran."""

    def __init__(self, html: str, folder) -> None:
        (folder / "page.html").write_text(html)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000"]
        profile = f"--user-data-dir={folder / 'profile'}"
        command = [BROWSER, *flags, profile, "--dump-dom", (folder / "page.html").as_uri()]
        dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
        self.dom = dom
        self.title = unescape(re.search(r"<title>(.*?)</title>", dom, re.DOTALL)[1])
        self.elements = ELEMENTS.sub("", dom)
        self.text = unescape(re.sub(r"<[^>]+>", "\n", self.elements))


def hostile():
    """A model whose names are scripts."""
    model = load("frozen")
    model.graph = graph("x = Placeholder() {dtype=float32, shape=(2,)}")
    model.signatures.clear()
    model.graph.add("BatchMatMulV3", [model.graph.nodes["x"].output(0)] * 2, name=EVIL)
    model.graph.add(EVIL, [], name="custom")
    model.where = EVIL
    return model


def test_the_matrix_shows_every_cause_and_where_the_model_runs(tmp_path):
    matrix = matrix_of(shared("keras_lstm"))
    shown = Shown(matrix_page(matrix), tmp_path)
    document = matrix.to_json()
    strip = document["strips"][0]
    for code, op in {(c["code"], c["op"]) for row in strip["releases"] for c in row["causes"]}:
        assert code in shown.text
        assert op in shown.text
    assert "2.10.0 \N{EN DASH} 2.21.0" in shown.text


def test_a_check_shows_verdicts_findings_and_advice(tmp_path):
    model = load("keras_lstm")
    report = tfport.check(model, ["tensorflow==1.13.2", "tensorflow==2.21.0"])
    shown = Shown(check_page(report), tmp_path)
    assert "fails at load" in shown.text
    assert "runs" in shown.text
    finding = report.results[0].findings[0]
    for words in (finding.code, finding.node, finding.cause()):
        assert words in shown.text


def test_a_certificate_shows_how_it_was_made_and_what_was_compared(tmp_path):
    from tests.fix.certify.test_certificate import CHANGES, certificate

    paper = certificate(changes=CHANGES)
    shown = Shown(paper.page(), tmp_path)
    record = paper.to_json()
    trial = record["trials"][0]
    facts = [record["statement"], record["made"]["date"], trial["name"], trial["inputs"][0]["sha256"]]
    facts += [record["rules"][0]["doc"], record["runners"][0]["name"], "3 changed nodes"]
    for words in facts:
        assert words in shown.text


@pytest.mark.parametrize("kind", ["matrix", "check", "inspect"])
def test_no_script_of_a_model_runs(kind, tmp_path):
    model = hostile()
    pages = {
        "matrix": lambda: matrix_page(matrix_of(model, since="1.12", until="2.6")),
        "check": lambda: check_page(tfport.check(model, "tensorflow==2.3.4")),
        "inspect": lambda: inspect_page(tfport.inspect(model), model),
    }
    html = pages[kind]()
    shown = Shown(html, tmp_path)
    assert shown.title != "broken"
    assert "<img" not in shown.elements
    assert len(StaticPage(html).all("script")) == shown.dom.count("<script")
