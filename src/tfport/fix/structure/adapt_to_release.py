"""Avoid what a release registers, but handles wrongly: `check.release_quirks` says which releases do."""

from __future__ import annotations

from tfport.atlas.target import Target
from tfport.check.release_quirks import misreads_control_inputs, reads_unwritten_as_zeros
from tfport.fix.journal import Journal
from tfport.fix.structure.control_inputs import wait_through_identities
from tfport.fix.structure.unwritten_elements import append_unwritten
from tfport.graph.graph import Graph


def adapt_to_release(graph: Graph, target: Target, journal: Journal) -> None:
    """Change the main graph so that old sessions run it as new ones do."""
    if not reads_unwritten_as_zeros(target):
        says = "Only the elements of an array that a loop wrote are stacked, followed by zeros."
        journal.changed("zeros for unwritten elements", says, append_unwritten(graph))
    if misreads_control_inputs(target):
        says = "Nodes wait for transpositions through an Identity, which the target does not remove."
        journal.changed("waiting apart", says, wait_through_identities(graph))
