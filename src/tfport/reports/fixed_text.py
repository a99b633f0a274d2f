"""Format the result of a rewrite as text: the certificate, or what remains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tfport.printable import printable
from tfport.reports.certificate_text import render as certificate_text
from tfport.reports.console import count, indented, title
from tfport.reports.layout.parts import ReportPart, Text

if TYPE_CHECKING:
    from tfport.fix.result import Fixed


def render(fixed: Fixed, width: int) -> Iterator[ReportPart]:
    """Format the whole result."""
    if fixed.verification is not None:
        yield from certificate_text(fixed.certificate, width)
        return
    yield title(fixed.source.where, f"for {fixed.target.requirement}")
    yield indented(Text(fixed.failure, style="bold red"))
    for line in fixed.remaining:
        yield indented(Text(printable(f"- {line}")))
    entries = fixed.journal.entries
    rest = f"{count(len(entries), 'change')} would solve the other problems" if entries else ""
    yield title("nothing was written", rest)
