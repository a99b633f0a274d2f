"""MkDocs hooks: pages of the site whose sources are elsewhere in the repository.

The site has CONTRIBUTING.md and CHANGELOG.md from the root, and the manifests of `deploy/`,
which pages link to. Links between them and `docs/` are adjusted.
"""

from __future__ import annotations

import ast
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
    for path in sorted(path for path in (ROOT / "deploy").rglob("*") if path.is_file()):
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    _list_codes(config)
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Drop the marks around computed numbers, and link into the site rather than the repository."""
    text = re.sub(r"<!-- count [\w-]+ -->([^<]*)<!-- end -->", r"\1", markdown)
    text = re.sub(
        r"^::: tfport\.(check|fix|scan)$", lambda match: _callable_package(match[1]), text, flags=re.M
    )
    return text.replace("](../deploy/", "](deploy/").replace("](../deploy)", "](deploy/kubernetes.yaml)")


def _callable_package(name: str) -> str:
    """The function of `tfport.check`, `fix` or `scan`; mkdocstrings would show the package of that name."""
    tree = ast.parse((ROOT / "src/tfport/__init__.py").read_text())
    function = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    docstring = ast.get_docstring(function) or ""
    text, _, arguments = docstring.partition("Args:\n")
    function.body, function.decorator_list = [ast.Expr(ast.Constant(...))], []
    rows = re.findall(r"^    (\S+): (.*(?:\n        .*)*)", arguments, re.MULTILINE)
    table = "".join(f"| `{argument}` | {' '.join(meaning.split())} |\n" for argument, meaning in rows)
    signature = ast.unparse(function).rpartition(":")[0].removeprefix("def ")
    parameters = signature.replace(", ", ",\n    ").replace("(", "(\n    ", 1)
    return f"## {name}\n\n```python\n{parameters}\n```\n\n{text}\n| argument | meaning |\n|---|---|\n{table}"


def _list_codes(config: Any) -> None:
    """`Codes: codes/` in the navigation becomes one entry per code page."""
    pages = [f"codes/{page.name}" for page in sorted((ROOT / "docs/codes").glob("*.md"))]
    for section in config.nav:
        if section.get("Codes") == "codes/":
            section["Codes"] = ["codes/index.md", *(page for page in pages if page != "codes/index.md")]
