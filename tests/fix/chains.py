"""Chains of all rules on a real target: afterwards it takes every node, and tfport answers as before."""

from __future__ import annotations

from typing import Any

from tests.fix.rule_cases import PRODUCER, RuleCase, answers, assert_alike, rule_case

import tfport
from tfport.atlas.target import resolve_targets
from tfport.fix.engine import RuleEngine
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.rule import ROUNDING, RULES, Rule
from tfport.fix.rulebook import Rulebook
from tfport.graph.build import graph_to_def
from tfport.graph.model import Model

OLDEST = "tensorflow==1.4.1"
NO_RULE = Rule("chain", (), ROUNDING, "", lambda op, n: n, __name__)


def chain_case(text: str, *, fetches: str | list[str] = "y:0", **said: Any) -> RuleCase:
    """A case for the whole rulebook rather than for one rule."""
    return rule_case(NO_RULE, text, fetches=fetches, **said)


def rewritten_for(
    c: RuleCase, target: str = OLDEST, *, allow_lossy: bool = False, journal: Journal | None = None
) -> Model:
    """The graph of a case made to fit a target; every node of it does."""
    model, journal = c.model(), journal or Journal()
    checker = NodeChecker(resolve_targets(target)[0], PRODUCER)
    engine = RuleEngine(checker, Rulebook((), RULES), Facts(model), journal, allow_lossy=allow_lossy)
    names = [one.partition(":")[0] for one in c.fetches]
    stuck = engine.rewrite(model.graph, names)
    assert not stuck, [(one.node.op, [str(p) for p in one.problems], one.refusals) for one in stuck]
    for node in model.graph:
        assert not checker.unresolved(node), node
    return tfport.load(graph_to_def(model.graph).SerializeToString())


def check_chain(c: RuleCase, target: str = OLDEST, *, allow_lossy: bool = False) -> list[str]:
    """Both sides answer alike in tfport's runtime; the names of the rules that were used."""
    journal = Journal()
    after = rewritten_for(c, target, allow_lossy=allow_lossy, journal=journal)
    for ours, theirs in zip(answers(after, c), answers(c.model(), c), strict=True):
        assert_alike(ours, theirs, c, exact=False)
    return [entry.name for entry in journal.entries]
