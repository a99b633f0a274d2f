"""A relevant difference between two environments: what it breaks, and how certain that is.

The sentences are in `breaks.toml`; a rule selects one by name and fills its placeholders.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tfport.startup.dataclass import dataclass

BREAKS, MAY_BREAK, NOTE = SEVERITIES = ("breaks", "may-break", "note")
UNKNOWN, NONE = "?", "none"
"""Texts for unknown and for absent values."""


@dataclass(frozen=True)
class EnvironmentDifference:
    """One difference and its consequence."""

    name: str
    subject: str
    """`tensorflow`, `numpy`, `GLIBC`."""
    build: str
    runtime: str
    severity: str
    concerns: str
    breaks: str
    sure: str
    """`measured`, `declared` or `likely`."""
    source: str
    fixes: tuple[str, ...]
    names: tuple[str, ...]
    """The affected ops, attributes or symbols."""


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("breaks.toml").read_text(encoding="utf-8"))


def difference(
    name: str, subject: str, build: str, runtime: str, *, names: Sequence[str] = (), **values: object
) -> EnvironmentDifference:
    """The difference of a name, with its placeholders filled."""
    row = _table()[name]
    known = {"build": build, "runtime": runtime, **values}
    return EnvironmentDifference(
        name=name,
        subject=subject,
        build=build,
        runtime=runtime,
        severity=row["severity"],
        concerns=row["concerns"],
        breaks=row["breaks"].format_map(known),
        sure=row["sure"],
        source=row["source"].format_map(known),
        fixes=tuple(fix.format_map(known) for fix in row["fixes"]),
        names=tuple(names),
    )
