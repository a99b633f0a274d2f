"""The pages of finding codes, for `tfport explain TFP101` and `tfport explain --list`."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

import tfport.check.check
import tfport.check.findings.libraries
import tfport.check.findings.library_files
import tfport.check.findings.library_ops  # noqa: F401  registers all findings
from tfport.check.findings.finding import CODES, Finding
from tfport.errors import Error

HEADING = "## "


@dataclass(frozen=True)
class CodePage:
    """The documentation of a code, independent of any model."""

    code: str
    name: str
    title: str
    """The message with its placeholders."""
    severity: str
    sections: dict[str, str]
    """Cause, fix, example."""


def code_page(text: str) -> CodePage:
    """The page of a code; raises Error with similar codes if there is no such code."""
    code = text.strip().upper()
    if code not in CODES:
        close = difflib.get_close_matches(code, CODES, n=3)
        hint = f"; similar codes: {', '.join(close)}" if close else ""
        raise Error(f"unknown code {code}{hint}. `tfport explain --list` shows all codes")
    return _page(CODES[code])


def all_codes() -> list[CodePage]:
    return [_page(CODES[code]) for code in sorted(CODES)]


def _page(finding: type[Finding]) -> CodePage:
    sections: dict[str, str] = {}
    for part in finding.page.split(HEADING)[1:]:
        name, _, text = part.partition("\n")
        sections[name.strip().lower()] = text.rstrip()
    return CodePage(finding.code, finding.name, finding.title, finding.usual, sections)
