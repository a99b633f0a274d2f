"""MkDocs hooks: pages of the site that lie elsewhere in the repository.

The site has CONTRIBUTING.md and CHANGELOG.md from the root, and the manifests of `deploy/`,
which pages link to. Links between them and `docs/` are adjusted.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("CONTRIBUTING.md", "CHANGELOG.md")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and files from outside `docs/`, and the code pages to the navigation."""
    for name in PAGES:
        text = (ROOT / name).read_text().replace("](docs/", "](")
        files.append(File.generated(config, name, content=text))
    for path in sorted((ROOT / "deploy").iterdir()):
        files.append(File.generated(config, f"deploy/{path.name}", abs_src_path=str(path)))
    _list_codes(config)
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Drop the marks around computed numbers, and link into the site rather than the repository."""
    text = re.sub(r"<!-- count [\w-]+ -->([^<]*)<!-- end -->", r"\1", markdown)
    return text.replace("](../deploy/", "](deploy/").replace("](../deploy)", "](deploy/kubernetes.yaml)")


def _list_codes(config: Any) -> None:
    """`Codes: codes/` in the navigation becomes one entry per code page."""
    pages = [f"codes/{page.name}" for page in sorted((ROOT / "docs/codes").glob("*.md"))]
    for section in config.nav:
        if section.get("Codes") == "codes/":
            section["Codes"] = ["codes/index.md", *(page for page in pages if page != "codes/index.md")]
