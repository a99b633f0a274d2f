"""The page that shows models: its files, and pages of one file with their documents inside.

A static page has the script, the style and the documents of one model, and loads nothing. Names in the
documents come from untrusted files: they are JSON in which no character can end the element, the page puts
them into the document as text only, and its Content-Security-Policy allows no other script and no network.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from tfport.extras import installed_version

ASSETS = Path(__file__).parent / "assets"
"""The page as `make web` builds it, for a server."""
VERSION = 1
POLICY = (
    "default-src 'none'; script-src '$script'; style-src '$style'; img-src data: blob:; worker-src blob:; "
    "base-uri 'none'; form-action 'none'"
)
PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<link rel="icon" href="$icon">
<style>$style</style>
</head>
<body><div id="app"></div>
<noscript><div class="without-script"><h1>$title</h1>
<p>With JavaScript, this page shows the details too; nothing on it is loaded from elsewhere.</p>
<pre>$text</pre></div></noscript>
<script id="tfport-data" type="application/json">$data</script>
<script>$script</script>
</body>
</html>
""")
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def self_contained_page(
    view: str, title: str, model: Mapping[str, Any], documents: Mapping[str, Any], text: str
) -> str:
    """A page of one file that begins with a view and shows those for which it has documents.

    Browsers without JavaScript show the text, which is what the command prints.
    """
    script, style, icon = _assets()
    made = {"tfport": installed_version("tfport"), "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")}
    data = {"version": VERSION, "view": view, "title": title, "made": made, "model": model, **documents}
    policy = Template(POLICY).substitute(script=_digest(script), style=_digest(style))
    return PAGE.substitute(
        policy=policy,
        title=escape(title),
        icon=icon,
        style=style,
        data=harmless_json(data),
        script=script,
        text=escape(text.strip("\n")),
    )


def model_entry(path: str, kind: str, size: int) -> dict[str, Any]:
    """What a page says about its model."""
    name = os.path.basename(os.path.normpath(path)) or path
    return {
        "id": "model", "path": path, "name": name, "kind": kind, "bytes": size,
        "opened": True, "example": False,
    }  # fmt: skip


def harmless_json(document: Any) -> str:
    """JSON that cannot end or begin an element, wherever it is in a page."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str)
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return text.encode("utf-8", "backslashreplace").decode()


@cache
def _assets() -> tuple[str, str, str]:
    """The script, the style and the icon."""
    script = (ASSETS / "app.js").read_text("utf-8")
    style = (ASSETS / "app.css").read_text("utf-8")
    icon = base64.b64encode((ASSETS / "favicon.svg").read_bytes()).decode()
    return script, style, f"data:image/svg+xml;base64,{icon}"


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
