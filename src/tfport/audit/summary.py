"""The summary of an audit: how many models run where, what stops the others, and what changed.

Everything is counted by the database, so that a summary of a million models needs no more memory than one
of ten. `group_by` names the groups: the folder below the store, or the owner of the files.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, islice, pairwise
from typing import Any

from tfport.audit.database import AuditDatabase
from tfport.audit.examine import NOT_TRIED, READ, REMAINS, REWRITTEN, STOPPED, UNREADABLE
from tfport.check.check import FAILS, RUNS, UNKNOWN
from tfport.errors import Error
from tfport.rendering import RenderedResult
from tfport.startup.dataclass import dataclass, field

GROUP = re.compile(r"path(?::([1-9]\d?))?|owner|format|producer")
MOST_LISTED = 1000
"""Causes, groups, changes and unreadable models in a summary; the database has all of them."""
MOST_EXAMPLES = 3


@dataclass(slots=True)
class TargetCounts:
    """What a target does with the models of a store."""

    target: str
    runs: int = 0
    fails_at_load: int = 0
    fails_at_run: int = 0
    unknown: int = 0
    rewritten: int = 0
    """Of those that fail: for how many a rewrite that the target accepts was found."""
    remains: int = 0
    """Of those that fail: for how many none was found."""
    not_tried: int = 0

    @property
    def fails(self) -> int:
        return self.fails_at_load + self.fails_at_run


@dataclass(slots=True)
class BlockingCause:
    """A finding that stops models on a target."""

    target: str
    code: str
    subject: str
    models: int
    alone: int
    """How many of them nothing else stops."""
    rewritten: int
    """For how many of them a rewrite was found."""
    message: str
    examples: list[str]


@dataclass(slots=True)
class Upgrade:
    """The models of one target on another: what breaks, and who has to do something."""

    before: str
    after: str
    keeps_running: int = 0
    breaks: int = 0
    rewritten: int = 0
    """Of what breaks: a rewrite that the new target accepts was found."""
    needs_person: int = 0
    """Of what breaks: no rewrite was found."""
    not_tried: int = 0
    starts_running: int = 0
    runs_on_neither: int = 0
    undecided: int = 0
    """The verdict for one of the two is `unknown`."""
    people: list[tuple[str, str]] = field(default_factory=list)
    """What needs a person: models with the first reason."""


@dataclass(slots=True)
class GroupCounts:
    """The models of a group, and how many of them run on each target."""

    group: str
    models: int
    unread: int
    runs: dict[str, int]
    fails: dict[str, int]


@dataclass(slots=True)
class SignatureChange:
    """What differs between the signatures of two versions of a model."""

    name: str
    before: str
    after: str
    changes: list[str]


@dataclass(slots=True)
class NewProblem:
    """A result that an earlier audit did not have."""

    path: str
    target: str
    before: str | None
    """The verdict then; None for a model that was not there."""
    verdict: str
    causes: list[str]


@dataclass(repr=False)
class AuditSummary(RenderedResult):
    """A store, summarized."""

    stores: list[str]
    targets: list[TargetCounts]
    models: int = 0
    folders: int = 0
    complete: bool = True
    """Whether every folder of the store was examined."""
    statuses: dict[str, int] = field(default_factory=dict)
    formats: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    cpu_seconds: float = 0.0
    causes: list[BlockingCause] = field(default_factory=list)
    upgrade: Upgrade | None = None
    risks: list[dict[str, Any]] = field(default_factory=list)
    group_by: str = ""
    groups: list[GroupCounts] = field(default_factory=list)
    signature_changes: list[SignatureChange] = field(default_factory=list)
    not_read: list[dict[str, str]] = field(default_factory=list)
    baseline: str = ""
    new_problems: list[NewProblem] = field(default_factory=list)
    new_risks: list[dict[str, str]] = field(default_factory=list)
    tried_fix: bool = False

    @property
    def verdict(self) -> str | None:
        """The worst verdict, with a baseline of what is new; None if a model was not read and none fails."""
        if self.baseline:
            verdicts = {problem.verdict for problem in self.new_problems}
        else:
            verdicts = {FAILS for counts in self.targets if counts.fails}
            verdicts |= {UNKNOWN for counts in self.targets if counts.unknown}
            verdicts |= {UNREADABLE} if self.models > self.statuses.get(READ, 0) else set()
        if FAILS in verdicts:
            return FAILS
        if verdicts & {UNREADABLE, STOPPED}:
            return None
        return UNKNOWN if UNKNOWN in verdicts else RUNS


def summarize(
    database: AuditDatabase, *, group_by: str = "", before: str = "", baseline: str = ""
) -> AuditSummary:
    """Summarize an audit. `before` is the target that the models run on today."""
    ask = database.connection.execute
    targets = json.loads(database.value("targets") or "[]")
    stores = json.loads(database.value("stores") or "[]")
    models, size, cpu = ask("SELECT COUNT(*), TOTAL(bytes), TOTAL(cpu_seconds) FROM models").fetchone()
    summary = AuditSummary(
        stores,
        [_counts(database, target) for target in targets if target != before],
        models=models,
        folders=database.counts[0],
        complete=database.value("complete") == "1",
        statuses=dict(ask("SELECT status, COUNT(*) FROM models GROUP BY 1 ORDER BY 2 DESC")),
        formats=dict(
            ask("SELECT format, COUNT(*) FROM models WHERE format != '' GROUP BY 1 ORDER BY 2 DESC")
        ),
        bytes=int(size),
        cpu_seconds=cpu,
        causes=list(_causes(database, before)),
        risks=list(_risks(database)),
        signature_changes=list(islice(_signature_changes(database), MOST_LISTED)),
        not_read=[
            {"path": path, "status": status, "error": error}
            for path, status, error in ask(
                "SELECT path, status, error FROM models WHERE status != ? ORDER BY path LIMIT ?",
                (READ, MOST_LISTED),
            )
        ],
        tried_fix=ask("SELECT 1 FROM results WHERE rewrite IS NOT NULL").fetchone() is not None,
    )
    if before:
        after = next(counts.target for counts in summary.targets)
        summary.upgrade = _upgrade(database, before, after)
    if group_by:
        summary.group_by = group_by
        summary.groups = list(_groups(database, group_by, stores, [c.target for c in summary.targets]))
    if baseline:
        summary.baseline = baseline
        _add_news(summary, database, before)
    return summary


def _counts(database: AuditDatabase, target: str) -> TargetCounts:
    counts = TargetCounts(target)
    rows = database.connection.execute(
        "SELECT verdict, stage, rewrite, COUNT(*) FROM results WHERE target = ? GROUP BY 1, 2, 3", (target,)
    )
    for verdict, stage, rewrite, number in rows:
        if verdict == RUNS:
            counts.runs += number
        elif verdict == UNKNOWN:
            counts.unknown += number
        elif stage == "run":
            counts.fails_at_run += number
        else:
            counts.fails_at_load += number
        counts.rewritten += number * (rewrite == REWRITTEN)
        counts.remains += number * (rewrite == REMAINS)
        counts.not_tried += number * (rewrite == NOT_TRIED)
    return counts


def _causes(database: AuditDatabase, before: str) -> Iterator[BlockingCause]:
    """What stops models, the causes of most models first; not on the target that they run on today."""
    rows = database.connection.execute(
        "WITH numbers AS (SELECT path, target, COUNT(*) AS causes FROM causes GROUP BY 1, 2) "
        "SELECT target, code, subject, COUNT(*), SUM(numbers.causes = 1), SUM(COALESCE(rewrite = ?, 0)), "
        "MIN(message) FROM causes JOIN numbers USING (path, target) JOIN results USING (path, target) "
        "WHERE target != ? GROUP BY 1, 2, 3 ORDER BY 4 DESC, 5 DESC, 1, 2, 3 LIMIT ?",
        (REWRITTEN, before, MOST_LISTED),
    ).fetchall()
    for target, code, subject, models, alone, rewritten, message in rows:
        examples = database.connection.execute(
            "SELECT path FROM causes WHERE target = ? AND code = ? AND subject = ? ORDER BY path LIMIT ?",
            (target, code, subject, MOST_EXAMPLES),
        )
        paths = [path for (path,) in examples]
        yield BlockingCause(target, code, subject, models, alone, rewritten, message, paths)


def _risks(database: AuditDatabase) -> Iterator[dict[str, Any]]:
    """What models could do to the machine that loads them, the worst first."""
    rows = database.connection.execute(
        "SELECT code, severity, COUNT(DISTINCT path), MIN(path), MIN(message) FROM risks GROUP BY 1, 2 "
        "ORDER BY severity = 'error' DESC, 3 DESC"
    )
    for code, severity, models, example, message in rows:
        yield {
            "code": code, "severity": severity, "models": models, "example": example, "message": message,
        }  # fmt: skip


def _upgrade(database: AuditDatabase, before: str, after: str) -> Upgrade:
    upgrade = Upgrade(before, after)
    both = "results AS old JOIN results AS new USING (path) WHERE old.target = ? AND new.target = ?"
    rows = database.connection.execute(
        f"SELECT old.verdict, new.verdict, new.rewrite, COUNT(*) FROM {both} GROUP BY 1, 2, 3",
        (before, after),
    )
    for old, new, rewrite, number in rows:
        if UNKNOWN in (old, new):
            upgrade.undecided += number
        elif old == RUNS and new == RUNS:
            upgrade.keeps_running += number
        elif old == RUNS:
            upgrade.breaks += number
            upgrade.rewritten += number * (rewrite == REWRITTEN)
            upgrade.needs_person += number * (rewrite in (REMAINS, NOT_TRIED))
            upgrade.not_tried += number * (rewrite is None)
        else:
            upgrade.starts_running += number * (new == RUNS)
            upgrade.runs_on_neither += number * (new != RUNS)
    people = database.connection.execute(
        f"SELECT path, new.rewrite_reasons FROM {both} AND old.verdict = ? AND new.verdict = ? "
        "AND new.rewrite IN (?, ?) ORDER BY path LIMIT ?",
        (before, after, RUNS, FAILS, REMAINS, NOT_TRIED, MOST_LISTED),
    )
    upgrade.people = [(path, (json.loads(reasons) or [""])[0]) for path, reasons in people]
    return upgrade


# Groups of models.


def group_function(group_by: str, stores: Sequence[str]) -> Callable[[str, str, str, str], str]:
    """The group of a model by its path, owner, format and producer."""
    match = GROUP.fullmatch(group_by)
    if match is None:
        raise Error(
            f"unknown group `{group_by}`; expected path, path:2 (two folders), owner, format or producer"
        )
    if group_by == "owner":
        return lambda path, owner, form, producer: owner or "unknown"
    if group_by == "format":
        return lambda path, owner, form, producer: form or "unknown"
    if group_by == "producer":
        return lambda path, owner, form, producer: producer or "unknown"
    depth, tops = int(match[1] or 1), sorted((s.rstrip("/") for s in stores), key=len, reverse=True)

    def by_path(path: str, owner: str, form: str, producer: str) -> str:
        top = next((top for top in tops if path == top or path.startswith(f"{top}/")), "")
        inside = path.removeprefix(top).strip("/").split("/")
        return posixpath.join(*inside[:depth]) or path

    return by_path


def _groups(
    database: AuditDatabase, group_by: str, stores: Sequence[str], targets: Sequence[str]
) -> Iterator[GroupCounts]:
    group_of = group_function(group_by, stores)
    database.connection.create_function(
        "group_of", 4, lambda *texts: group_of(*(text or "" for text in texts)), deterministic=True
    )
    group = "group_of(path, owner, format, producer)"
    ask = database.connection.execute
    groups = {
        name: GroupCounts(name, models, unread, dict.fromkeys(targets, 0), dict.fromkeys(targets, 0))
        for name, models, unread in ask(
            f"SELECT {group}, COUNT(*), SUM(status != ?) FROM models GROUP BY 1 ORDER BY 2 DESC, 1", (READ,)
        )
    }
    rows = ask(
        f"SELECT {group}, target, verdict, COUNT(*) FROM models JOIN results USING (path) GROUP BY 1, 2, 3"
    )
    for name, target, verdict, number in rows:
        if target in targets and verdict in (RUNS, FAILS):
            (groups[name].runs if verdict == RUNS else groups[name].fails)[target] += number
    yield from islice(groups.values(), MOST_LISTED)


# Versions of one model.


def _signature_changes(database: AuditDatabase) -> Iterator[SignatureChange]:
    rows = database.connection.execute(
        "SELECT name, version, signatures FROM models WHERE version != '' AND status = ? AND name IN "
        "(SELECT name FROM models WHERE version != '' GROUP BY name HAVING COUNT(*) > 1) "
        "ORDER BY name, LENGTH(version), version",
        (READ,),
    )
    for name, versions in groupby(rows, key=lambda row: row[0]):
        for (_, before, old), (_, after, new) in pairwise(versions):
            if old != new and (changes := list(_differences(json.loads(old), json.loads(new)))):
                yield SignatureChange(name, before, after, changes)


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*old, *new}):
        if name not in new:
            yield f"signature `{name}` is gone"
        elif name not in old:
            yield f"signature `{name}` is new"
        else:
            for side, noun in (("inputs", "input"), ("outputs", "output")):
                yield from _changed_specs(f"{name}: {noun}", old[name][side], new[name][side])


def _changed_specs(what: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*old, *new}):
        if name not in new:
            yield f"{what} `{name}` is gone"
        elif name not in old:
            yield f"{what} `{name}` is new ({new[name]})"
        elif old[name] != new[name]:
            yield f"{what} `{name}`: {old[name]} became {new[name]}"


# What an earlier audit did not have.


NEW_CAUSES = (
    "FROM main.causes AS now_cause WHERE now_cause.path = now.path AND now_cause.target = now.target "
    "AND NOT EXISTS (SELECT 1 FROM old.causes AS was_cause WHERE was_cause.path = now_cause.path "
    "AND was_cause.target = now_cause.target AND was_cause.code = now_cause.code "
    "AND was_cause.subject = now_cause.subject)"
)


def _add_news(summary: AuditSummary, database: AuditDatabase, before: str) -> None:
    """Add what the baseline does not have: worse results, other causes, models that cannot be read, risks."""
    ask = database.connection.execute
    ask("ATTACH DATABASE ? AS old", (summary.baseline,))
    try:
        results = ask(
            "SELECT path, target, was.verdict, now.verdict, (SELECT json_group_array(code || ' ' || subject) "
            f"{NEW_CAUSES}) FROM main.results AS now LEFT JOIN old.results AS was USING (path, target) "
            "WHERE now.verdict != ? AND target != ? AND (was.verdict IS NOT now.verdict OR EXISTS "
            f"(SELECT 1 {NEW_CAUSES})) ORDER BY path, target LIMIT ?",
            (RUNS, before, MOST_LISTED),
        )
        summary.new_problems += [
            NewProblem(path, target, then, now, json.loads(causes))
            for path, target, then, now, causes in results
        ]
        unread = ask(
            "SELECT path, now.status FROM main.models AS now LEFT JOIN old.models AS was USING (path) "
            "WHERE now.status != ? AND COALESCE(was.status, ?) = ? ORDER BY path LIMIT ?",
            (READ, READ, READ, MOST_LISTED),
        )
        summary.new_problems += [NewProblem(path, "", None, status, []) for path, status in unread]
        risks = ask(
            "SELECT DISTINCT path, code, severity, message FROM main.risks EXCEPT "
            "SELECT path, code, severity, message FROM old.risks ORDER BY 1, 2 LIMIT ?",
            (MOST_LISTED,),
        )
        keys = ("path", "code", "severity", "message")
        summary.new_risks += [dict(zip(keys, row, strict=True)) for row in risks]
    finally:
        ask("DETACH DATABASE old")
