"""The worker that places boxes: what the view says if it does not start or stops."""

import pytest
from tests.browser.test_graph_view import ATTENTION, SCOPES, painted

BLOCKED = """
window.Worker = class { constructor() { throw new DOMException('no workers', 'SecurityError'); } };
"""
NEVER_STARTS = """
window.Worker = class extends EventTarget {
  postMessage() { setTimeout(() => this.onerror(new Event('error'))); }
  terminate() {}
};
"""
REMEMBERED = """
const Real = window.Worker;
window.Worker = class extends Real { constructor(...given) { super(...given); window.lastWorker = this; } };
"""


@pytest.mark.parametrize("script", [BLOCKED, NEVER_STARTS], ids=["blocked", "fails"])
def test_a_worker_that_does_not_start_is_told_in_a_sentence(opened, script):
    opened.page.add_init_script(script)
    page = opened.path(ATTENTION, "graph")
    notice = page.locator(".graph-notice")
    notice.wait_for()
    assert "did not start the layout worker" in notice.inner_text()
    assert "another browser" in notice.inner_text()
    assert page.locator(".graph-busy").count() == 0


def test_the_picture_comes_as_soon_as_workers_work_again(opened):
    opened.page.add_init_script(f"window.RealWorker = window.Worker; {BLOCKED}")
    page = opened.path(ATTENTION, "graph")
    again = page.locator(".graph-notice").get_by_role("button", name="Try again")
    again.wait_for()
    page.evaluate("() => { window.Worker = window.RealWorker; }")
    again.click()
    painted(page)
    assert page.locator(".graph-notice").count() == 0


def test_a_worker_that_stops_is_told_and_replaced(opened):
    opened.page.add_init_script(REMEMBERED)
    page = painted(opened.path(SCOPES, "graph"))
    page.get_by_role("button", name="Collapse all").click()
    page.locator("[role=treeitem][aria-expanded=false]").first.wait_for()
    before = page.get_by_role("treeitem").count()
    page.evaluate("""() => {
      const worker = window.lastWorker;
      worker.postMessage = () => worker.onerror(new Event('error'));
    }""")
    page.get_by_role("button", name="Expand all").click()
    notice = page.locator(".graph-notice")
    notice.wait_for()
    assert "reload the page" in notice.inner_text()
    assert page.get_by_role("treeitem").count() == before
    notice.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Expand all").click()
    page.wait_for_function(f"() => document.querySelectorAll('[role=treeitem]').length > {before}")
    assert page.locator(".graph-notice").count() == 0
