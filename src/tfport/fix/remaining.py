"""Why a target does not run a rewritten model, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tfport.check.checked_model import CheckedModel
from tfport.check.console import count
from tfport.check.findings.finding import ERROR
from tfport.check.findings.ops import UnknownOp
from tfport.check.matrix.nearest import nearest_releases
from tfport.fix.engine import Stuck
from tfport.fix.rule import Rule
from tfport.registry.unresolved import Question

if TYPE_CHECKING:
    from tfport.fix.result import Fixed

MOST_REASONS = 3
FEW_OPS = 12


def remaining(fixed: Fixed) -> Iterator[str]:
    """The findings with why no rule helped, structure that was not converted, and where the model runs."""
    by_op: dict[str, list[Stuck]] = {}
    for entry in fixed.attempt.stuck:
        by_op.setdefault(entry.node.op, []).append(entry)
    explained = set()
    for finding in fixed.attempt.report.findings:
        if finding.severity == ERROR and finding.stage:
            op = getattr(finding, "op", "")
            explained.add(op)
            why = f" ({_why(by_op[op])})" if op in by_op else ""
            yield f"{finding.code}: {finding.message}{why}"
    for op, stuck in by_op.items():
        if op not in explained:
            problem = stuck[0].problems[0]
            about = f" {problem.attr}={problem.actual}" if problem.attr else ""
            yield f"{op}{about}: {problem.question.value} No, in {count(len(stuck), 'node')} ({_why(stuck)})"
    yield from fixed.attempt.reasons
    yield from _before_custom_ops(fixed)
    yield from _to_add(fixed)
    yield from _elsewhere(fixed)


def _why(stuck: list[Stuck]) -> str:
    """The refusals of the rules for this op; those of rules for many ops only if there are no others."""
    op = stuck[0].node.op
    own = (_refusals(node, lambda rule: op in rule.ops and len(rule.ops) <= FEW_OPS) for node in stuck)
    reasons = list(dict.fromkeys(reason for some in own for reason in some))
    if not reasons and stuck[0].problems[0].question is not Question.OP:
        reasons = list(dict.fromkeys(r for node in stuck for r in _refusals(node, lambda rule: True)))
    if not reasons:
        return "there is no rule for it"
    rest = f"; and {len(reasons) - MOST_REASONS} more" if len(reasons) > MOST_REASONS else ""
    return "; ".join(reasons[:MOST_REASONS]) + rest


def _refusals(stuck: Stuck, counts: Callable[[Rule], bool]) -> list[str]:
    return [f"{rule.name}: {why}" for rule, why in stuck.refusals if counts(rule)]


def _before_custom_ops(fixed: Fixed) -> Iterator[str]:
    """What to fetch instead of the result of a custom op at the end of a graph without signatures."""
    if fixed.source.signatures:
        return
    graph = fixed.source.graph
    for finding in fixed.attempt.report.findings:
        node = graph.nodes.get(finding.node or "") if finding.code == UnknownOp.code else None
        if node is not None and node.inputs and not node.users:
            fetches = " ".join(f"--fetch {value}" for value in dict.fromkeys(node.inputs))
            yield f"or `{fetches}`: the graph up to `{node.name}`, without the custom op {node.op}"


def _to_add(fixed: Fixed) -> Iterator[str]:
    """The ops that a reduced build would have to register."""
    if fixed.target.kind == "reduced":
        registry = fixed.target.registry
        missing = sorted({stuck.node.op for stuck in fixed.attempt.stuck if stuck.node.op not in registry})
        if missing:
            yield f"or add {', '.join(missing)} to the build; `tfport targets header` writes the header"


def _elsewhere(fixed: Fixed) -> Iterator[str]:
    results = [r for r in fixed.attempt.report.results if r.verdict != "runs"]
    if results and fixed.target.build is not None:
        releases = nearest_releases(CheckedModel(fixed.model), fixed.target, results[0].loaders[0])
        yield from releases.ways_out
