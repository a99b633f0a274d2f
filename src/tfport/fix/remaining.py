"""Why a target does not run a rewritten model, in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tfport.atlas.target import Target
from tfport.check.check import RUNS
from tfport.check.checked_model import CheckedModel
from tfport.check.findings.finding import ERROR
from tfport.check.findings.ops import UnknownOp
from tfport.check.nearest import nearest_releases
from tfport.fix.certify.verification import NOT_COMPARED
from tfport.fix.engine import ALLOW_LOSSY, BUILDS, Stuck
from tfport.fix.fix import fix_model
from tfport.fix.result import FIXED
from tfport.fix.rule import ANY, LOSSY, Rule
from tfport.fix.structure.functional_ops import FUNCTIONAL
from tfport.graph.model import Model
from tfport.registry.unresolved import Question
from tfport.startup.dataclass import replace
from tfport.words import count

if TYPE_CHECKING:
    from tfport.fix.result import Fixed


MOST_REASONS = 3
CONVERTED_TOGETHER = (
    "TensorList",
    "RaggedTensorToVariant",
    "RaggedTensorFromVariant",
    "HashTable",
    "LookupTable",
)
"""Prefixes of ops whose nodes `fix.structure` converts together."""


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
            why = f" ({_why(by_op[op])})" if op in by_op and not _is_structure(op, fixed) else ""
            yield f"{finding.code}: {finding.message}{why}"
    for op, stuck in by_op.items():
        if op not in explained:
            problem = stuck[0].problems[0]
            about = f" {problem.attr}={problem.actual}" if problem.attr else ""
            yield f"{op}{about}: {problem.question.value} No, in {count(len(stuck), 'node')} ({_why(stuck)})"
    yield from grouped(fixed.attempt.reasons)
    yield from _before_custom_ops(fixed)
    yield from _elsewhere(fixed)
    yield from _to_add(fixed)


def _is_structure(op: str, fixed: Fixed) -> bool:
    """Whether ops like this are converted all at once, and the reasons say why they were not."""
    return bool(fixed.attempt.reasons) and (op in FUNCTIONAL or op.startswith(CONVERTED_TOGETHER))


def _why(stuck: list[Stuck]) -> str:
    """The refusals of the rules for this op, the nearest to success first; else those of rules for any op."""
    op = stuck[0].node.op
    refusals = [refusal for entry in stuck for refusal in entry.refusals]
    own = [(rule, why) for rule, why in refusals if op in rule.ops]
    if not own and stuck[0].problems[0].question is not Question.OP:  # no rule for any op adds an op
        own = [(rule, why) for rule, why in refusals if ANY in rule.ops]
    ordered = sorted(own, key=lambda refusal: _distance(*refusal))
    names: dict[str, dict[str, None]] = {}
    for rule, why in ordered:
        names.setdefault(why, {})[rule.name] = None
    reasons = list(grouped(f"{', '.join(rules)}: {why}" for why, rules in names.items()))
    if not reasons:
        return "there is no rule for it"
    rest = f"; and {len(reasons) - MOST_REASONS} more" if len(reasons) > MOST_REASONS else ""
    return "; ".join(reasons[:MOST_REASONS]) + rest


def _distance(rule: Rule, why: str) -> int:
    """How far a rule is from success: allowing it is enough, it lacks something, or it is for other nodes."""
    return 0 if rule.keeps is LOSSY and ALLOW_LOSSY in why else 1 if BUILDS in why else 2


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
    """The nearest releases on which the model runs as it is, and one for which it can be rewritten."""
    attempt, target = fixed.attempt, fixed.target
    loaders = [loader for result in attempt.report.results for loader in result.loaders]
    if target.build is None or all(result.verdict == RUNS for result in attempt.report.results):
        return
    as_it_is = nearest_releases(_subject(fixed, fixed.source), target, loaders)
    yield from as_it_is.ways_out
    known = {release.requirement for release in as_it_is.releases}
    rewritten = nearest_releases(_subject(fixed, fixed.model), target, loaders)
    for release in rewritten.releases:
        verdict = _verdict_for(fixed, release) if release.requirement not in known else None
        if verdict == FIXED:
            yield f"or rewrite it with `--for {release.requirement}`: outputs agree, and that release runs it"
        elif verdict == NOT_COMPARED:
            yield f"or rewrite it with `--for {release.requirement}`, and name inputs with `--inputs`"


def _subject(fixed: Fixed, model: Model) -> CheckedModel:
    options = fixed.attempt.options
    return CheckedModel(model, options.signatures, fetches=options.fetches, feeds=options.feeds)


def _verdict_for(fixed: Fixed, release: Target) -> str:
    """What the same command says for another release."""
    options = replace(fixed.attempt.options, pythons=(), prove=False)
    return fix_model(fixed.source, release, options).verdict


# Reasons why a model cannot be rewritten, each once: those that differ only in names are one line.

NAME = re.compile(r"`[^`]*`")


def grouped(reasons: Iterable[str]) -> Iterator[str]:
    """The first of the reasons that say the same about other names, and how many more there are."""
    alike: dict[str, dict[str, None]] = {}
    for reason in reasons:
        alike.setdefault(NAME.sub("``", reason), {})[reason] = None
    for same in alike.values():
        first, *more = same
        yield f"{first} (and {len(more)} more)" if more else first
