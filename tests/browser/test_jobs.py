"""Work that is started from the page: a run, a rewrite, a profile."""

import re

from tests.browser.views import ATTENTION, settled

LONG_MS = 120_000


def test_a_signature_runs_and_is_timed(opened):
    page = settled(opened.model("half_plus_two_tf2"))
    card = page.locator(".signature").first
    if card.get_by_role("button", name="Run …").count():
        card.get_by_role("button", name="Run …").click()
    card.get_by_role("button", name="zeros", exact=True).click()
    card.get_by_role("button", name=re.compile("and time it")).click()
    card.locator(".output").first.wait_for(timeout=LONG_MS)
    assert "median of the next 10" in card.inner_text()
    assert "2" in card.locator(".cells").first.inner_text()


def test_an_input_that_is_not_json_is_refused_before_it_is_sent(opened):
    page = settled(opened.model("half_plus_two_tf2"))
    card = page.locator(".signature").first
    if card.get_by_role("button", name="Run …").count():
        card.get_by_role("button", name="Run …").click()
    card.get_by_role("textbox").first.fill("one")
    card.get_by_role("button", name="Run", exact=True).click()
    assert "expected JSON" in page.locator(".notice").inner_text()


def test_a_pasted_request_fills_the_inputs(opened):
    page = settled(opened.path(ATTENTION))
    field = page.locator(".signature").get_by_role("textbox").first
    field.fill('{"signature_name": "serving_default", "inputs": {"words": [["a", "b"]]}}')
    assert field.input_value() == '[["a","b"]]'


def test_a_rewrite_shows_rules_differences_and_the_certificate(opened):
    page = settled(opened.path(ATTENTION, "fix", target="tensorflow==1.13.2"))
    page.get_by_role("button", name="Rewrite", exact=True).click()
    said = "The target should accept the rewritten model, and its outputs agree"  # it was not run here
    page.get_by_text(said).wait_for(timeout=LONG_MS)
    assert "BatchMatMulV2" in page.get_by_role("region", name="Changed nodes", exact=True).inner_text()
    page.get_by_role("heading", name="Certificate").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the model and its certificate").click()
    assert download.value.suggested_filename.endswith(".zip")


def test_the_target_accepts_only_what_it_has_run(opened):
    """`--prove` needs an environment of the target, so the answer of a real rewrite says that it was run."""

    def proven(route):
        answer = route.fetch()
        job = answer.json()
        if certificate := (job.get("result") or {}).get("certificate"):
            certificate["target_runs"]["ran"] = True
        route.fulfill(response=answer, json=job)

    opened.page.route("**/api/v1/jobs/*", proven)
    page = settled(opened.path(ATTENTION, "fix", target="tensorflow==1.13.2"))
    page.get_by_role("button", name="Rewrite", exact=True).click()
    said = "The target accepts the rewritten model, and its outputs agree"
    page.get_by_text(said).wait_for(timeout=LONG_MS)


def test_a_rewrite_that_is_refused_says_why(opened, sample_folder):
    page = settled(opened.path(sample_folder / "hostile.pb", "fix", target="tensorflow==1.4.1"))
    page.get_by_role("button", name="Rewrite", exact=True).click()
    page.locator(".problem, .answer.load").first.wait_for(timeout=LONG_MS)
    assert "✓" not in page.locator("main").inner_text()


def test_a_profile_shows_parts_and_nodes_and_colors_the_graph(opened):
    page = settled(opened.path(ATTENTION, "profile"))
    page.get_by_role("button", name="Profile", exact=True).click()
    page.locator(".parts").wait_for(timeout=LONG_MS)
    assert page.get_by_role("region", name="Node times").locator("tbody tr").count() > 3
    page.get_by_role("button", name="islands").click()
    page.get_by_role("region", name="Islands").wait_for()
    page.get_by_role("button", name="Color the graph").click()
    page.get_by_text("Time per node").wait_for()


def test_work_goes_on_while_the_user_looks_elsewhere_and_can_be_canceled(opened):
    page = settled(opened.path(ATTENTION, "fix", target="tensorflow==1.13.2"))
    page.get_by_role("button", name="Rewrite", exact=True).click()
    page.get_by_role("link", name="Ops").click()
    page.get_by_role("region", name="Ops of the model").wait_for()
    page.get_by_role("link", name="Fix").click()
    page.locator(".progress, .answer").first.wait_for(timeout=LONG_MS)


def test_a_bar_shows_how_much_is_done_where_the_job_knows(opened):
    states = [(None, "rewriting"), (0.4, "serving_default: zeros, rewritten")]
    job = {"version": 1, "id": "j", "kind": "fix", "model": "m", "state": "running", "seconds": 0.5}
    job |= {"result": None, "error": None}

    def answer(route):
        fraction, stage = states[0]
        route.fulfill(json={**job, "stage": stage, "fraction": fraction})

    opened.page.route("**/api/v1/models/*/fix", answer)
    opened.page.route("**/api/v1/jobs/j", answer)
    page = settled(opened.path(ATTENTION, "fix", target="tensorflow==1.13.2"))
    page.get_by_role("button", name="Rewrite", exact=True).click()
    bar = page.get_by_role("progressbar")
    bar.wait_for()
    assert bar.evaluate("(bar) => bar.position") == -1  # nobody knows
    states.pop(0)
    page.get_by_text("40 %").wait_for()
    assert bar.evaluate("(bar) => bar.value") == 0.4
