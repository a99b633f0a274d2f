"""What is asked of one model, and how an answer becomes an exit code.

0: it runs. 1: it does not. 2: tfport could not tell, or could not read it. `--fail-on`
says from where on the answer is 1; each step counts those before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tfport.cli.choices import FAIL_ON, NEVER

_WORST_FIRST = (1, 2, 0)


@dataclass(frozen=True)
class Asked:
    """One model, the targets to hold it against, and how."""

    model: str
    on: tuple[str, ...]
    device: str | None = None
    gpu: str | None = None
    loaders: tuple[str, ...] | None = None
    signatures: tuple[str, ...] | None = None
    soft_placement: bool | None = None
    tags: tuple[str, ...] | None = None
    fail_on: str | None = None
    checksums: bool = False
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What came out: the verdict and the severities of findings; or that it could not be read."""

    verdict: str | None
    severities: frozenset[str] = frozenset()


def exit_code(outcome: Outcome, fail_on: str | None) -> int:
    """The exit code for one model."""
    if outcome.verdict is None:
        return 2
    if fail_on == NEVER:
        return 0
    steps = {"error": outcome.verdict == "fails", "unknown": outcome.verdict == "unknown"}
    steps |= {"warning": "warning" in outcome.severities, "note": "note" in outcome.severities}
    counted = FAIL_ON[: FAIL_ON.index(fail_on or "error") + 1]
    if any(steps[step] for step in counted):
        return 1
    return 2 if outcome.verdict == "unknown" else 0


def of_all(codes: Iterable[int]) -> int:
    """The exit code for several models: one that does not run outweighs one that could not be read."""
    found = set(codes)
    return next((code for code in _WORST_FIRST if code in found), 0)
