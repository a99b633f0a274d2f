"""Avoid what a release registers, but handles wrongly: `check.release_quirks` says which releases do."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from tfport.check.log_probabilities import DECODER, PROBED_SHAPE, uncorrected
from tfport.check.release_quirks import (
    misreads_control_inputs,
    normalizes_log_probabilities,
    reads_unwritten_as_zeros,
)
from tfport.fix.facts import Facts
from tfport.fix.journal import Journal
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.replace import put_in_place
from tfport.fix.rule import ROUNDING
from tfport.fix.structure.unwritten_elements import append_unwritten
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.reach import every_node


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


# Let nodes wait for transpositions through an Identity.
#
# TensorFlow 1.4 removes transpositions that cancel each other, also if they become neighbors by other
# optimizations, and turns the control inputs of nodes that wait for them into data inputs
# (`check.findings.optimizer`). An Identity that something waits for stays.


def wait_through_identities(graph: Graph) -> list[tuple[str, str]]:
    """Insert the Identity nodes; returns the nodes that wait for them, with their ops."""
    changed = []
    for node in [node for node in graph if node.op == "Transpose"]:
        if waiting := [user for user in node.users if node in user.controls]:
            passed = _identity(node)
            for user in waiting:
                user.set_controls([passed if control is node else control for control in user.controls])
                changed.append((user.name, user.op))
    return changed


def _identity(node: Node) -> Node:
    value = node.output(0)
    attrs = {"T": value.dtype.base}
    return node.graph.add("Identity", [value], attrs, name=f"{node.name}/done", device=node.device)


# Normalize the log probabilities of CTCBeamSearchDecoder on releases that do not.
#
# These subtract only the largest logit of each step. What is missing is, for each sequence, the sum over
# its steps of log(sum(exp(logits - largest))). The graph subtracts it only if decoding a constant shows
# that the release does not normalize: so it gives the same answer in every release.

LIKELY = -0.5
"""Above log(1/2), the log probability of one of two equal classes; below 0, which is not normalized."""


def normalize_log_probabilities(
    graph: Graph, checker: NodeChecker, facts: Facts, tensors: Collection[str]
) -> list[tuple[str, str]]:
    """Correct decoders whose log probability is read or among `tensors`, which keep their names.

    Returns the decoders.
    """
    changed, names = [], {tensor.partition(":")[0] for tensor in tensors}
    for node in list(every_node(graph)):
        value, is_main = uncorrected(node), node.graph is graph
        if value is None or not (value.uses or (is_main and value.name in tensors)):
            continue
        changed.append((node.name, node.op))
        op = RuleBuilder(node, facts, checker)
        decoded = op.node(DECODER, *node.inputs, **node.attrs)
        *paths, log_probability = decoded.outputs
        corrected = op.Sub(log_probability, _missing(op, *node.inputs)).output(0)
        put_in_place(node, [*paths, corrected], op.added, facts, named=is_main and node.name in names)
    return changed


def _missing(op: RuleBuilder, logits: Value, lengths: Value) -> Node:
    """What the log probabilities of each sequence are too large by in this release: a column."""
    shifted = op.Sub(logits, op.Max(logits, 2, keep_dims=True))
    steps = op.Log(op.Sum(op.Exp(shifted), 2))
    times = op.Range(0, op.StridedSlice(op.Shape(logits), [0], [1], [1], shrink_axis_mask=1), 1)
    is_step = op.Less(op.ExpandDims(times, 1), op.ExpandDims(lengths, 0))
    is_missing = op.LogicalAnd(_is_not_normalized(op), is_step)
    return op.ExpandDims(op.Sum(op.Select(is_missing, steps, op.ZerosLike(steps)), 0), 1)


def _is_not_normalized(op: RuleBuilder) -> Node:
    """Whether the release that runs the graph does not normalize: a matrix of one element."""
    logits = op.const(np.zeros(PROBED_SHAPE, np.float32))
    probe = op.node(DECODER, logits, op.const([1]), beam_width=1, top_paths=1)
    return op.Greater(probe.outputs[-1], op.const(LIKELY))
