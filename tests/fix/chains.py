"""Apply all rules for a real target, which must then support every node; outputs must not change."""

from __future__ import annotations

from typing import Any

from tests.fix.rule_cases import PRODUCER, RuleCase, answers, assert_alike, rule_case

import tfport
from tfport.atlas.resolve.targets import resolve_targets
from tfport.fix.engine import RuleEngine
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.rule import ROUNDING, RULES, Rule, Rulebook
from tfport.graph.build import graph_to_def
from tfport.graph.model import Model

OLDEST = "tensorflow==1.4.1"
NO_RULE = Rule("chain", (), ROUNDING, "", lambda op, n: n, __name__)


def chain_case(text: str, *, fetches: str | list[str] = "y:0", **options: Any) -> RuleCase:
    """A case for the whole rulebook rather than for one rule."""
    return rule_case(NO_RULE, text, fetches=fetches, **options)


def rewritten_for(
    c: RuleCase, target: str = OLDEST, *, allow_lossy: bool = False, journal: Journal | None = None
) -> Model:
    """The graph of a case, rewritten so that the target supports every node."""
    model, journal = c.model(), journal or Journal()
    checker = NodeChecker(resolve_targets(target)[0], PRODUCER)
    engine = RuleEngine(checker, Rulebook((), RULES), Facts(model), journal, allow_lossy=allow_lossy)
    names = [fetch.partition(":")[0] for fetch in c.fetches]
    stuck = engine.rewrite(model.graph, names)
    assert not stuck, [(step.node.op, [str(p) for p in step.problems], step.refusals) for step in stuck]
    for node in model.graph:
        assert not checker.unresolved(node), node
    return tfport.load(graph_to_def(model.graph).SerializeToString())


def check_chain(c: RuleCase, target: str = OLDEST, *, allow_lossy: bool = False) -> list[str]:
    """Compare the outputs of both graphs in tfport's runtime; return the names of the applied rules."""
    journal = Journal()
    after = rewritten_for(c, target, allow_lossy=allow_lossy, journal=journal)
    for ours, theirs in zip(answers(after, c), answers(c.model(), c), strict=True):
        assert_alike(ours, theirs, c, exact=False)
    return [entry.name for entry in journal.entries]
