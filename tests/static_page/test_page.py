"""Pages of one file: what they allow, what they embed, and that the assets are those of the sources."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.static_page.embedded import EVIL, StaticPage, assert_stands_alone

from tfport.static_page.page import ASSETS, harmless_json, self_contained_page

WEB = Path(__file__).parents[2] / "web"


def test_the_page_has_no_script_or_style_of_its_own():
    text = (ASSETS / "index.html").read_text()
    assert "<style" not in text
    assert "onload" not in text
    assert text.count("<script") == text.count("<script src=") == 1


def test_a_page_embeds_its_documents_whatever_they_say():
    html = self_contained_page("fix", EVIL, {"name": EVIL}, {"certificate": {EVIL: [EVIL]}}, EVIL)
    page = assert_stands_alone(html)
    assert page.text("title") == page.text("h1") == page.text("pre") == EVIL
    documents = page.documents
    made = documents.pop("made")
    assert set(made) == {"tfport", "date"}
    assert documents == {
        "version": 1, "view": "fix", "title": EVIL, "model": {"name": EVIL}, "certificate": {EVIL: [EVIL]},
    }  # fmt: skip


def test_the_policy_allows_this_script_and_style_only():
    html = self_contained_page("fix", "t", {}, {}, "text")
    page = StaticPage(html)
    policy = next(m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    script = re.search(r"<script>(.*)</script>", html, re.DOTALL)[1]
    style = re.search(r"<style>(.*)</style>", html, re.DOTALL)[1]
    for kind, text in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_the_assets_can_be_put_into_a_page():
    assert "</script" not in (ASSETS / "app.js").read_text().lower()
    assert "<!--" not in (ASSETS / "app.js").read_text()
    assert "</style" not in (ASSETS / "app.css").read_text().lower()


@given(st.text(st.characters(codec=None), max_size=40))
def test_embedded_text_is_what_it_was_and_has_no_markup(text):
    embedded = harmless_json({"x": text})
    assert not set("<>&\u2028\u2029") & set(embedded)
    if text.isprintable():
        assert json.loads(embedded)["x"] == text


@pytest.mark.skipif(not WEB.exists(), reason="the sources of the page are not in this distribution")
def test_the_assets_are_built_from_these_sources():
    """As `digest` of web/build.mjs; run `make web`."""
    files = ["package-lock.json", "build.mjs"]
    files += [str(p.relative_to(WEB)) for p in (WEB / "src").rglob("*") if p.is_file()]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.encode() + b"\0" + (WEB / file).read_bytes() + b"\0")
    assert (ASSETS / "sources.sha256").read_text().strip() == digest.hexdigest()
