"""The pages of finding codes, for `tfport explain TFP101` and `tfport explain --list`."""

from __future__ import annotations

import difflib

from tfport.check.findings.finding import Finding, all_findings, finding_class
from tfport.errors import Error
from tfport.startup.dataclass import dataclass

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
    declared = finding_class(code)
    if declared is None:
        close = difflib.get_close_matches(code, all_findings(), n=3)
        hint = f"; similar codes: {', '.join(close)}" if close else ""
        raise Error(f"unknown code {code}{hint}. `tfport explain --list` shows all codes")
    return _page(declared)


def all_codes() -> list[CodePage]:
    return [_page(declared) for declared in all_findings().values()]


def _page(finding: type[Finding]) -> CodePage:
    sections: dict[str, str] = {}
    for part in finding.page.split(HEADING)[1:]:
        name, _, text = part.partition("\n")
        sections[name.strip().lower()] = text.rstrip()
    return CodePage(finding.code, finding.name, finding.title, finding.default_severity, sections)
