"""A page of the browser, its addresses, and what it complained about."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from tests.recorded_models import path_of
from tests.web.ui_client import TOKEN, UiClient

WAIT_MS = 15_000
AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"


class OpenedPage:
    """One tab, without the storage of other tests."""

    def __init__(self, browser: Any, ui: UiClient | None = None) -> None:
        self.ui = ui
        self.context = browser.new_context(viewport={"width": 1400, "height": 900})
        self.page = self.context.new_page()
        self.page.set_default_timeout(WAIT_MS)
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._hear)

    def _hear(self, message: Any) -> None:
        # Chromium tells of each answer of 4xx: what the page makes of those is tested by its sentence.
        if message.type == "error" and "status of 4" not in message.text:
            self.complaints.append(message.text)

    def go(self, address: str = "/") -> Any:
        """Open an address of the page, as from the printed link."""
        assert self.ui is not None
        self.page.goto("about:blank")
        self.page.goto(f"http://127.0.0.1:{self.ui.port}/#token={TOKEN}&{address}")
        return self.page

    def model(self, name: str, tab: str = "overview", **query: str) -> Any:
        """Open a tab of a recorded model."""
        return self.path(path_of(name), tab, **query)

    def path(self, path: object, tab: str = "overview", **query: str) -> Any:
        """Open a tab of the model at a path."""
        assert self.ui is not None
        search = f"?{urlencode(query, quote_via=quote)}" if query else ""
        return self.go(f"/model/{self.ui.open(path)}/{tab}{search}")

    def resize(self, width: int, height: int = 900) -> None:
        self.page.set_viewport_size({"width": width, "height": height})

    @property
    def scrolls_sideways(self) -> bool:
        """Whether the page itself is wider than the window."""
        root = "document.documentElement"
        return bool(self.page.evaluate(f"{root}.scrollWidth > {root}.clientWidth"))

    def serious_violations(self) -> list[str]:
        """What axe-core calls serious or critical."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        violations = self.page.evaluate("axe.run()")["violations"]
        return [
            f"{violation['id']}: {node['html'][:200]}"
            for violation in violations
            if violation["impact"] in ("serious", "critical")
            for node in violation["nodes"]
        ]

    def close(self) -> None:
        self.context.close()
