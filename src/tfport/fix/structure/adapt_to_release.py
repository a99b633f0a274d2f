"""Avoid what a release registers, but handles wrongly: `check.release_quirks` says which releases do."""

from __future__ import annotations

from collections.abc import Collection

from tfport.check.release_quirks import (
    misreads_control_inputs,
    normalizes_log_probabilities,
    reads_unwritten_as_zeros,
)
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.rule import ROUNDING
from tfport.fix.structure.control_inputs import wait_through_identities
from tfport.fix.structure.log_probabilities import normalize_log_probabilities
from tfport.fix.structure.unwritten_elements import append_unwritten
from tfport.graph.graph import Graph


def adapt_to_release(
    graph: Graph, checker: NodeChecker, facts: Facts, journal: Journal, tensors: Collection[str]
) -> None:
    """Change the graph so that old sessions run it as new ones do; `tensors` keep their names."""
    target = checker.target
    if not normalizes_log_probabilities(target):
        says = "What log probabilities of decoded paths are too large by on the target is subtracted there."
        changed = normalize_log_probabilities(graph, checker, facts, tensors)
        journal.changed("normalized log probabilities", says, changed, ROUNDING)
    if not reads_unwritten_as_zeros(target):
        says = "Only the elements of an array that a loop wrote are stacked, followed by zeros."
        journal.changed("zeros for unwritten elements", says, append_unwritten(graph))
    if misreads_control_inputs(target):
        says = "Nodes wait for transpositions through an Identity, which the target does not remove."
        journal.changed("waiting apart", says, wait_through_identities(graph))
