"""What a project allows its models to do: `[[scan.allow]]` of tfport.toml.

    [[scan.allow]]
    code = "TFP911"
    model = "export/*"                     # optional: paths relative to the file, `*` matches any text
    reason = "the Lambda is our own"
    until = 2027-06-30                     # optional: the last day on which it is allowed

An allowed finding is a note with its reason. After its last day it counts again.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tfport.cli.check.project_config import SCAN, expected, find_table, relative, toml_type
from tfport.errors import Error
from tfport.scan.risk import NOTE, Risk
from tfport.startup.dataclass import dataclass

KEYS = ("code", "model", "reason", "until")


@dataclass(frozen=True)
class AllowedRisk:
    """One row."""

    code: str
    reason: str
    model: str = "*"
    until: datetime.date | None = None

    def allows(self, risk: Risk, model: str) -> bool:
        return risk.code == self.code and fnmatchcase(model, self.model)


@dataclass(frozen=True)
class AllowList:
    """The rows of a project."""

    folder: Path
    rows: Sequence[AllowedRisk] = ()

    def apply(self, path: str, risks: Sequence[Risk], today: datetime.date) -> None:
        """Make notes of the findings that are allowed in the model at a path."""
        model = os.path.relpath(path, self.folder)
        for risk in risks:
            for row in self.rows:
                if row.allows(risk, model) and risk.severity != NOTE:
                    if row.until is not None and row.until < today:
                        risk.why = f"allowed until {row.until} only ({row.reason}); {risk.why}".rstrip("; ")
                    else:
                        risk.level, risk.why = NOTE, f"allowed: {row.reason}"


def allow_list(start: Path) -> AllowList:
    """The rows of the nearest configuration; none without one."""
    declared = find_table(start)
    if declared is None:
        return AllowList(start)
    file, table = declared
    return AllowList(file.parent, list(_rows(relative(file), table.get(SCAN, {}))))


def _rows(file: str, table: Any) -> Iterator[AllowedRisk]:
    if not isinstance(table, dict) or not set(table) <= {"allow"}:
        raise Error(f"{file}: `scan` is not [[scan.allow]]; expected tables with this header")
    entries = table.get("allow", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Error(f"{file}: `scan.allow` is {toml_type(entries)}; expected tables with [[scan.allow]]")
    for number, entry in enumerate(entries, 1):
        yield _row(f"{file}: scan.allow {number}", entry)


def _row(where: str, entry: dict[str, Any]) -> AllowedRisk:
    if other := next((key for key in entry if key not in KEYS), None):
        raise Error(f"{where}: unknown key `{other}`{expected(KEYS)}")
    for key in ("code", "reason"):
        if not isinstance(entry.get(key), str) or not entry[key].strip():
            raise Error(f"{where}: `{key}` is missing; expected a string")
    until = entry.get("until")
    if until is not None and (not isinstance(until, datetime.date) or isinstance(until, datetime.datetime)):
        raise Error(f"{where}: `until` is {toml_type(until)}; expected a day such as 2027-06-30")
    model = entry.get("model", "*")
    if not isinstance(model, str):
        raise Error(f"{where}: `model` is {toml_type(model)}; expected a string")
    return AllowedRisk(entry["code"], entry["reason"], model, until)
