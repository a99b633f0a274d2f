"""The summary of an audit as text and JSON, the contract of `tfport audit --json`, version 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tfport.audit.summary import AuditSummary, BlockingCause, TargetCounts, Upgrade
from tfport.rendering import json_of
from tfport.reports.console import columns, cut_off, indented, more, text_of, title
from tfport.reports.layout import ReportPart, Text
from tfport.words import byte_size, count, printable

VERSION = 1
MOST_ROWS = 12
LONGEST = 160
NOT_COMPARED = "a rewrite that the target accepts was found; outputs were not compared"
PERSON, REWRITE = "needs a person", "can be rewritten"


@text_of(AuditSummary)
def audit_text(summary: AuditSummary, width: int, *, everything: bool = False) -> Iterator[ReportPart]:
    """Render the summary; long lists are cut unless `everything` is set."""
    most = 1 << 30 if everything else MOST_ROWS
    yield title(", ".join(summary.stores), _size(summary))
    if not summary.complete:
        yield indented(Text("interrupted: the same command continues", style="yellow"))
    if summary.baseline:
        yield from _news(summary, most)
        return
    yield title("where they run")
    yield _where(summary, width)
    if summary.upgrade is not None:
        yield from _upgrade(summary.upgrade, width, most)
    yield from _causes(summary, width, most)
    yield from _risks(summary.risks, width, most)
    yield from _signature_changes(summary, width, most)
    yield from _groups(summary, width, most)
    yield from _not_read(summary, most)


def _size(summary: AuditSummary) -> str:
    formats = ", ".join(f"{number:,} {name}" for name, number in summary.formats.items())
    return f"{count(summary.models, 'model')}, {byte_size(summary.bytes)}" + (
        f" ({formats})" if formats else ""
    )


def _where(summary: AuditSummary, width: int) -> ReportPart:
    head = ["target", "runs", "load fails", "run fails", "unknown"]
    rows = [
        [c.target, *(f"{n:,}" for n in (c.runs, c.fails_at_load, c.fails_at_run, c.unknown))]
        for c in summary.targets
    ]
    if summary.tried_fix:
        head += ["rewritable", "person"]
        for row, c in zip(rows, summary.targets, strict=True):
            row += [f"{c.rewritten:,}", f"{c.remains + c.not_tried:,}"]
    return columns(rows, width, head=head, right=len(head) - 1)


def _upgrade(upgrade: Upgrade, width: int, most: int) -> Iterator[ReportPart]:
    yield title(f"from {upgrade.before} to {upgrade.after}")
    rows = [("keeps running", upgrade.keeps_running, ""), ("breaks", upgrade.breaks, "")]
    if upgrade.rewritten or upgrade.needs_person:
        rows += [
            (f"  {REWRITE}", upgrade.rewritten, NOT_COMPARED),
            (f"  {PERSON}", upgrade.needs_person, "no rewrite was found"),
        ]
    elif upgrade.breaks:
        rows.append(("  not tried", upgrade.not_tried, "--try-fix tries to rewrite them"))
    rows += [
        ("starts running", upgrade.starts_running, ""),
        ("runs on neither", upgrade.runs_on_neither, ""),
        ("undecided", upgrade.undecided, "the verdict for one of them is unknown"),
    ]
    yield columns([[name, f"{number:,}", note if number else ""] for name, number, note in rows], width)
    if upgrade.people:
        yield title(PERSON, f"{count(upgrade.needs_person, 'model')}")
        yield from map(_sentence, (f"{path}: {why}" for path, why in upgrade.people[:most]))
        yield from map(indented, more(len(upgrade.people) - most))


def _causes(summary: AuditSummary, width: int, most: int) -> Iterator[ReportPart]:
    if not summary.causes:
        return
    yield title("what stops them", "by the number of models")
    head = ["models", "alone", *(["rewritable"] if summary.tried_fix else []), "target", "cause"]
    rows = [_cause_row(cause, tried_fix=summary.tried_fix) for cause in summary.causes[:most]]
    if len(summary.targets) == 1:
        head.remove("target")
        rows = [[*row[:-2], row[-1]] for row in rows]
    yield columns(rows, width, head=head)
    yield from map(indented, more(len(summary.causes) - most))


def _cause_row(cause: BlockingCause, *, tried_fix: bool) -> list[str]:
    numbers = [f"{cause.models:,}", f"{cause.alone:,}", *([f"{cause.rewritten:,}"] if tried_fix else [])]
    return [*numbers, cause.target, f"{cause.code} {cause.subject}"]


def _risks(risks: Sequence[dict[str, Any]], width: int, most: int) -> Iterator[ReportPart]:
    if risks:
        yield title("what they could do to the machine that loads them")
        rows = [
            [f"{r['models']:,}", r["severity"], r["code"], cut_off(r["message"], LONGEST)]
            for r in risks[:most]
        ]
        yield columns(rows, width, head=["models", "severity", "code", "for example"])
        yield from map(indented, more(len(risks) - most))


def _signature_changes(summary: AuditSummary, width: int, most: int) -> Iterator[ReportPart]:
    if summary.signature_changes:
        yield title("signatures that changed between versions")
        rows = [
            [change.name, f"{change.before} to {change.after}", "\n".join(change.changes)]
            for change in summary.signature_changes[:most]
        ]
        yield columns(rows, width)
        yield from map(indented, more(len(summary.signature_changes) - most))


def _groups(summary: AuditSummary, width: int, most: int) -> Iterator[ReportPart]:
    if not summary.groups:
        return
    yield title(f"by {summary.group_by}")
    targets = [counts.target for counts in summary.targets]
    head = [summary.group_by, "models", *(f"fails on {target}" for target in targets), "not read"]
    rows = [
        [g.group, f"{g.models:,}", *(f"{g.fails[target]:,}" for target in targets), f"{g.unread:,}"]
        for g in summary.groups[:most]
    ]
    yield columns(rows, width, head=head, right=len(head) - 1)
    yield from map(indented, more(len(summary.groups) - most))


def _not_read(summary: AuditSummary, most: int) -> Iterator[ReportPart]:
    if summary.not_read:
        total = sum(number for status, number in summary.statuses.items() if status != "read")
        yield title("not read", count(total, "model"))
        yield from map(_sentence, (model["error"] or model["path"] for model in summary.not_read[:most]))
        yield from map(indented, more(total - min(most, len(summary.not_read))))


def _news(summary: AuditSummary, most: int) -> Iterator[ReportPart]:
    problems = summary.new_problems
    yield title(f"new since {summary.baseline}", count(len(problems), "problem"))
    for p in problems[:most]:
        where = f"{p.path} on {p.target}" if p.target else p.path
        causes = f" ({', '.join(p.causes)})" if p.causes else ""
        yield _sentence(f"{where}: {p.before or 'new'} → {p.verdict}{causes}")
    yield from map(indented, more(len(problems) - most))
    if summary.new_risks:
        yield title("new risks", count(len(summary.new_risks), "risk"))
        for r in summary.new_risks[:most]:
            yield _sentence(f"{r['path']}: {r['severity']} {r['code']}: {r['message']}")
        yield from map(indented, more(len(summary.new_risks) - most))


def _sentence(text: str) -> ReportPart:
    return indented(Text(printable(cut_off(text, 2 * LONGEST))))


@json_of(AuditSummary)
def audit_json(summary: AuditSummary) -> dict[str, Any]:
    upgrade = summary.upgrade
    return {
        "version": VERSION,
        "stores": summary.stores,
        "complete": summary.complete,
        "models": summary.models,
        "folders": summary.folders,
        "bytes": summary.bytes,
        "cpu_seconds": round(summary.cpu_seconds, 3),
        "statuses": summary.statuses,
        "formats": summary.formats,
        "tried_fix": summary.tried_fix,
        "targets": [_target_json(counts) for counts in summary.targets],
        "upgrade": None if upgrade is None else _upgrade_json(upgrade),
        "causes": [_fields(cause) for cause in summary.causes],
        "risks": summary.risks,
        "group_by": summary.group_by or None,
        "groups": [_fields(group) for group in summary.groups],
        "signature_changes": [_fields(change) for change in summary.signature_changes],
        "not_read": summary.not_read,
        "baseline": summary.baseline or None,
        "new_problems": [_fields(problem) for problem in summary.new_problems],
        "new_risks": summary.new_risks,
    }


def _target_json(counts: TargetCounts) -> dict[str, Any]:
    return {**_fields(counts), "fails": counts.fails}


def _upgrade_json(upgrade: Upgrade) -> dict[str, Any]:
    people = [{"path": path, "why": why} for path, why in upgrade.people]
    return {**_fields(upgrade), "people": people}


def _fields(record: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(record)
