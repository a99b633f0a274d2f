"""Static pages in a browser that runs no scripts: what the command prints is there as text."""

import pytest
from tests.browser.test_static_pages import hostile
from tests.recorded_models import load
from tests.static_page.embedded import EVIL

import tfport
from tfport.matrix.matrix import matrix_of
from tfport.web.pages import check_page, inspect_page, matrix_page


@pytest.fixture
def shown(chromium, tmp_path):
    """What a browser without JavaScript shows of a page."""
    context = chromium.new_context(java_script_enabled=False, viewport={"width": 800, "height": 600})
    page = context.new_page()

    def show(html):
        (tmp_path / "page.html").write_text(html, encoding="utf-8")
        page.goto((tmp_path / "page.html").as_uri())
        text = page.locator("pre")
        text.wait_for(state="visible")
        box = text.bounding_box()
        assert box["y"] < 600
        assert box["x"] + box["width"] <= 800
        return " ".join(page.locator("body").inner_text().split())

    yield show
    context.close()


def test_a_check(shown):
    model = load("keras_lstm")
    report = tfport.check(model, ["tensorflow==1.13.2", "tensorflow==2.21.0"])
    text = shown(check_page(report))
    for finding in report.results[0].findings:
        assert finding.code in text
    errors = [finding for finding in report.results[0].findings if finding.severity == "error"]
    assert errors[0].cause() in text
    assert "tensorflow 2.21.0" in text


def test_a_matrix(shown):
    matrix = matrix_of(load("keras_lstm"))
    text = shown(matrix_page(matrix))
    codes = {c["code"] for row in matrix.to_json()["strips"][0]["releases"] for c in row["causes"]}
    assert all(code in text for code in codes)


def test_an_inspection(shown):
    model = load("keras_lstm")
    text = shown(inspect_page(tfport.inspect(model), model))
    assert "serving_default" in text
    assert "TensorFlow 2.21.0" in text


def test_a_certificate(shown):
    from tests.fix.certify.test_certificate import CHANGES, certificate

    paper = certificate(changes=CHANGES)
    text = shown(paper.page())
    assert paper.rules[0].name in text
    assert paper.target_statement in text
    assert paper.to_json()["input"]["sha256"] in text


def test_names_stay_text(shown):
    model = hostile()
    text = shown(check_page(tfport.check(model, "tensorflow==2.3.4")))
    assert EVIL[:20] in text
