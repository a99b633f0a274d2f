"""Results that render themselves, by renderers that know how: as JSON for programs, as text for people.

A result does not import its renderers. Each is declared for a class, in a layer above it, and imported
when it is first used:

    @json_of(Matrix)
    def matrix_json(matrix: Matrix) -> dict[str, Any]: …

    @text_of(Matrix)       # of tfport.reports.console, which lays out the text
    def matrix_text(matrix: Matrix, width: int, *, everything: bool = False) -> Iterator[ReportPart]: …
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tfport.discovery import STALE, Catalog

JSON, PLAIN, PARTS, PAGE = "json", "plain", "parts", "page"
"""The forms: a document, plain text, the parts of a text for any width, a page for a browser."""
TEXT, SARIF, JUNIT = "text", "sarif", "junit"
"""The part of one result in a report for people, for code scanning, or for a CI server."""
MOST_LINES = 40
"""Lines of a text that are shown unasked."""
FRAME = 'sandbox="allow-scripts" style="width: 100%; height: 36em; border: 0"'
Renderer = TypeVar("Renderer", bound=Callable[..., Any])
RENDERERS = Catalog[Callable[..., Any]](
    "renderers", "tfport.reports", "tfport.fix.certify.json", "tfport.web.pages"
)
"""By the name of the class and the form: `Matrix.json`."""


def renderer_of(result_class: type, form: str) -> Callable[[Renderer], Renderer]:
    """Declare how the results of a class, and of those derived from it, are rendered in a form."""

    def declare(renderer: Renderer) -> Renderer:
        RENDERERS.add(f"{result_class.__name__}.{form}", renderer)
        return renderer

    return declare


def json_of(result_class: type) -> Callable[[Renderer], Renderer]:
    """Declare the JSON of a class."""
    return renderer_of(result_class, JSON)


def rendered(result: object, form: str, *args: Any, **options: Any) -> Any:
    """A result in a form."""
    for result_class in type(result).__mro__:
        if renderers := RENDERERS.of(f"{result_class.__name__}.{form}"):
            return renderers[0](result, *args, **options)
    raise TypeError(f"no {form} of {type(result).__name__} is declared; {STALE}")


def has_renderer(result: object, form: str) -> bool:
    """Whether a form of a result is declared."""
    return any(RENDERERS.of(f"{result_class.__name__}.{form}") for result_class in type(result).__mro__)


class RenderedResult:
    """A result with JSON and text, which a notebook shows as its page."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        document: dict[str, Any] = rendered(self, JSON)
        return document

    def __str__(self) -> str:
        """The text without color, 80 columns wide."""
        return str(rendered(self, PLAIN))

    def __repr__(self) -> str:
        """The text, or its first lines."""
        lines = str(self).strip("\n").splitlines()
        if len(lines) > MOST_LINES:
            lines[MOST_LINES - 1 :] = [f"… {len(lines) - MOST_LINES + 1} more lines: print(…) shows all"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return notebook_html(self)


def notebook_html(result: object) -> str:
    """What a notebook shows: the page that `--html` writes, or the text if there is no page."""
    if not has_renderer(result, PAGE):
        from html import escape

        return f"<pre>{escape(str(result))}</pre>"
    from base64 import b64encode

    page = b64encode(rendered(result, PAGE).encode()).decode()
    return f'<iframe src="data:text/html;base64,{page}" {FRAME}></iframe>'  # in srcdoc, links leave it
