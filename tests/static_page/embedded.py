"""A static page as a browser reads it: its elements, and the documents inside."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "br", "img"}
EVIL = (
    "</script><script>document.title='broken'</script><!--<script>"
    "<img src=x onerror=\"document.title='broken'\">&lt;\u2028\u2029'\""
)
"""A name that would be a script, if it became markup."""


class StaticPage(HTMLParser):
    """Every element with its attributes and text; complains of one that is not closed."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[int] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_endtag(self, tag):
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data):
        if self._open:
            self.texts[self._open[-1]] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag]

    def text(self, tag: str) -> str:
        return next(text for (name, _), text in zip(self.elements, self.texts, strict=True) if name == tag)

    @property
    def documents(self) -> dict[str, Any]:
        place = next(i for i, (_, attrs) in enumerate(self.elements) if attrs.get("id") == "tfport-data")
        return json.loads(self.texts[place])


def assert_stands_alone(html: str) -> StaticPage:
    """The page loads nothing, and no name in it became markup."""
    page = StaticPage(html)
    scripts = page.all("script")
    assert [script.get("type") for script in scripts] == ["application/json", None]
    assert not page.all("img")
    assert not any(name.startswith("on") for _, attrs in page.elements for name in attrs)
    assert not any("src" in attrs for _, attrs in page.elements)
    assert all((attrs["href"] or "").startswith("data:") for attrs in page.all("link"))
    return page
