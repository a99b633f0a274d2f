"""What keeps a target from running a rewritten model: in sentences, one for each kind of node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tfport.check.checked_model import CheckedModel
from tfport.check.console import count
from tfport.check.findings.finding import ERROR
from tfport.check.matrix.nearest import nearest_releases
from tfport.fix.engine import Stuck
from tfport.fix.rule import Rule
from tfport.registry.unresolved import Question

if TYPE_CHECKING:
    from tfport.fix.result import Fixed

MOST_REASONS = 3
FEW_OPS = 12


def remaining(fixed: Fixed) -> Iterator[str]:
    """Findings with why no rule helped, structure that stayed, and where it would run."""
    by_op: dict[str, list[Stuck]] = {}
    for one in fixed.attempt.stuck:
        by_op.setdefault(one.node.op, []).append(one)
    told = set()
    for finding in fixed.attempt.report.findings:
        if finding.severity == ERROR and finding.stage:
            op = getattr(finding, "op", "")
            told.add(op)
            why = f" ({_why(by_op[op])})" if op in by_op else ""
            yield f"{finding.code}: {finding.message}{why}"
    for op, stuck in by_op.items():
        if op not in told:
            problem = stuck[0].problems[0]
            about = f" {problem.attr}={problem.actual}" if problem.attr else ""
            yield f"{op}{about}: {problem.question.value} no, in {count(len(stuck), 'node')} ({_why(stuck)})"
    yield from fixed.attempt.reasons
    yield from _to_add(fixed)
    yield from _elsewhere(fixed)


def _why(stuck: list[Stuck]) -> str:
    """The reasons that rules for this op gave; those for many ops only where there are no others."""
    op = stuck[0].node.op
    own = (_said(one, lambda rule: op in rule.ops and len(rule.ops) <= FEW_OPS) for one in stuck)
    reasons = list(dict.fromkeys(reason for some in own for reason in some))
    if not reasons and stuck[0].problems[0].question is not Question.OP:
        reasons = list(dict.fromkeys(r for one in stuck for r in _said(one, lambda rule: True)))
    if not reasons:
        return "there is no rule for it"
    rest = f"; and {len(reasons) - MOST_REASONS} more" if len(reasons) > MOST_REASONS else ""
    return "; ".join(reasons[:MOST_REASONS]) + rest


def _said(stuck: Stuck, counts: Callable[[Rule], bool]) -> list[str]:
    return [f"{rule.name}: {why}" for rule, why in stuck.refusals if counts(rule)]


def _to_add(fixed: Fixed) -> Iterator[str]:
    """The ops that a reduced build would have to register."""
    if fixed.target.kind == "reduced":
        there = fixed.target.registry
        missing = sorted({one.node.op for one in fixed.attempt.stuck if one.node.op not in there})
        if missing:
            yield f"or build it with {', '.join(missing)} too; `tfport targets header` writes the header"


def _elsewhere(fixed: Fixed) -> Iterator[str]:
    results = [r for r in fixed.attempt.report.results if r.verdict != "runs"]
    if results and fixed.target.build is not None:
        found = nearest_releases(CheckedModel(fixed.model), fixed.target, results[0].loaders[0])
        yield from found.ways_out
