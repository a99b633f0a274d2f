"""The pages of the codes: what `tfport explain TFP101` and `tfport explain --list` show."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

import tfport.check.check
import tfport.check.findings.libraries
import tfport.check.findings.library_files
import tfport.check.findings.library_ops  # noqa: F401  all findings are entered
from tfport.check.findings.finding import CODES, Finding
from tfport.errors import Error

HEADING = "## "


@dataclass(frozen=True)
class CodePage:
    """What is known of a code, whatever the model."""

    code: str
    name: str
    title: str
    """The message with its gaps open."""
    severity: str
    sections: dict[str, str]
    """Cause, fix, example."""


def code_page(text: str) -> CodePage:
    """The page of a code; Error for one that there is not, with those that are close."""
    code = text.strip().upper()
    if code not in CODES:
        close = difflib.get_close_matches(code, CODES, n=3)
        hint = f"; close to it: {', '.join(close)}" if close else ""
        raise Error(f"no code {code}{hint}. `tfport explain --list` shows all")
    return _code(CODES[code])


def all_codes() -> list[CodePage]:
    return [_code(CODES[code]) for code in sorted(CODES)]


def _code(finding: type[Finding]) -> CodePage:
    sections: dict[str, str] = {}
    for part in finding.page.split(HEADING)[1:]:
        name, _, text = part.partition("\n")
        sections[name.strip().lower()] = text.rstrip()
    return CodePage(finding.code, finding.name, finding.title, finding.usual, sections)
