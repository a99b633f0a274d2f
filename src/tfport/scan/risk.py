"""The base class of what `scan` finds: something a model could do, how bad it is, and when."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.check.findings.finding import ERROR, NOTE, WARNING, Finding
from tfport.check.loader_stages import NOT_CHECKED, Noticed

__all__ = ["ERROR", "NOTE", "RISK", "WARNING", "Risk"]

RISK = Noticed(serving=NOT_CHECKED, objects=NOT_CHECKED, tfport=NOT_CHECKED)
"""No loader refuses it: that is the problem."""
LOADING = "while the model loads"


class Risk(Finding):
    """Something a model could do."""

    level: str = ""
    """How bad it is in this model; empty for the severity of its class."""
    moment: str = LOADING
    """When it happens, as the end of a sentence."""
    subject: str = ""
    """The layer, member or file that it is about, if it is not about nodes."""
    why: str = ""
    """What makes it as bad as it is, or harmless."""
    own_runtime: str = ""
    """What tfport's own runtime does about it."""

    @property
    def severity(self) -> str:
        return self.level or self.default_severity

    def cause(self) -> str:
        return self.why


def rank(risk: Risk) -> tuple[int, str, str]:
    """The worst first."""
    return (ERROR, WARNING, NOTE).index(risk.severity), risk.code, risk.message


def worst_severity(risks: Sequence[Risk]) -> str | None:
    return min(risks, key=rank).severity if risks else None
