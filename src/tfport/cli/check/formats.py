"""The forms in which `tfport check` answers: what each model adds, and the whole made of that.

What a model adds can be sent from one process to another. Modules are loaded when
their form is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tfport.check.report.report import CheckReport

VERSION = 1


class Form(Protocol):
    """How reports are written."""

    def part(self, report: CheckReport, /) -> Any:
        """What one model adds."""
        ...

    def unreadable(self, model: str, why: str, /) -> Any:
        """What a model adds that cannot be read."""
        ...

    def whole(self, parts: Sequence[Any], /) -> str:
        """All of them, ready to be printed."""
        ...


@dataclass(frozen=True)
class TextPart:
    """What people read about one model."""

    verdict: str | None
    """None where it cannot be read."""
    shown: list[Any]
    is_line: bool


@dataclass(frozen=True)
class TextForm:
    """For people; of many models those that run are a line each."""

    width: int
    many: bool
    everything: bool
    colour: bool

    def part(self, report: CheckReport) -> TextPart:
        from tfport.check.report.text import line, render

        if self.many and report.verdict == "runs" and not self.everything:
            return TextPart(report.verdict, [line(report)], is_line=True)
        whole = list(render(report, self.width, everything=self.everything))
        return TextPart(report.verdict, whole, is_line=False)

    def unreadable(self, model: str, why: str) -> TextPart:
        from tfport.check.report.text import unreadable

        return TextPart(None, [unreadable(model, why)], is_line=True)

    def whole(self, parts: Sequence[TextPart]) -> str:
        from tfport.check.console import plain

        shown = list(self._page(parts))
        return _coloured(shown) if self.colour else plain(lambda _: shown) + "\n"

    def _page(self, parts: Sequence[TextPart]) -> Iterator[Any]:
        from tfport.check.report.phrases import summary

        for before, part in zip([None, *parts], parts, strict=False):
            if part.is_line and before and not before.is_line:
                yield ""
            yield from part.shown
        if len(parts) > 1:
            yield f"\n{summary([part.verdict for part in parts])}"


def _coloured(shown: Sequence[Any]) -> str:
    from rich.console import Console, Group

    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(Group(*shown))
    return captured.get()


@dataclass(frozen=True)
class JsonForm:
    """For programs: the report, or a list of reports."""

    many: bool

    def part(self, report: CheckReport) -> dict[str, Any]:
        return report.to_json()

    def unreadable(self, model: str, why: str) -> dict[str, Any]:
        return {"model": model, "error": why}

    def whole(self, parts: Sequence[dict[str, Any]]) -> str:
        what = {"version": VERSION, "models": list(parts)} if self.many else parts[0]
        return json.dumps(what, indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class OtherForm:
    """SARIF, JUnit and Markdown: each a module of three functions."""

    name: str

    def part(self, report: CheckReport) -> Any:
        return self._module.part(report)

    def unreadable(self, model: str, why: str) -> Any:
        return self._module.unreadable(model, why)

    def whole(self, parts: Sequence[Any]) -> str:
        return self._module.whole(parts)

    @property
    def _module(self) -> Form:
        if self.name == "sarif":
            from tfport.check.report import sarif as report_sarif

            return report_sarif
        if self.name == "junit":
            from tfport.check.report import junit as report_junit

            return report_junit
        from tfport.check.report import markdown as report_markdown

        return report_markdown
