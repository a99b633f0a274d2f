"""The cell of a notebook: the page of a result in a frame that reaches nothing outside it."""

from tests.recorded_models import load

import tfport


def test_a_cell_shows_the_report_and_its_links_stay_in_it(chromium, tmp_path):
    report = tfport.check(load("keras_lstm"), "tensorflow==1.13.2")
    (tmp_path / "notebook.html").write_text(f"<!doctype html><p>Out [1]</p>{report._repr_html_()}")
    context = chromium.new_context(viewport={"width": 1000, "height": 760})
    page = context.new_page()
    page.goto((tmp_path / "notebook.html").as_uri())
    cell = page.frame_locator("iframe")
    cell.get_by_text("fails at load").first.wait_for(state="visible")
    assert cell.get_by_text(report.findings[0].code).first.is_visible()
    cell.get_by_role("link", name="Graph").or_(cell.get_by_role("tab", name="Graph")).first.click()
    cell.locator("canvas, svg").first.wait_for(state="visible")
    assert page.get_by_text("Out [1]").is_visible()
    context.close()
