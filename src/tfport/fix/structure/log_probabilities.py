"""Normalize the log probabilities of CTCBeamSearchDecoder on releases that do not.

These subtract only the largest logit of each step. What is missing is, for each sequence, the sum over
its steps of log(sum(exp(logits - largest))). The graph subtracts it only if decoding a constant shows
that the release does not normalize: so it gives the same answer in every release.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from tfport.check.log_probabilities import DECODER, PROBED_SHAPE, uncorrected
from tfport.fix.facts import Facts
from tfport.fix.node_checker import NodeChecker
from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.replace import put_in_place
from tfport.graph.graph import Graph, Node, Value
from tfport.graph.reach import every_node

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
        op = NodeBuilder(node, facts, checker)
        decoded = op.node(DECODER, *node.inputs, **node.attrs)
        *paths, log_probability = decoded.outputs
        corrected = op.Sub(log_probability, _missing(op, *node.inputs)).output(0)
        put_in_place(node, [*paths, corrected], op.made, facts, named=is_main and node.name in names)
    return changed


def _missing(op: NodeBuilder, logits: Value, lengths: Value) -> Node:
    """What the log probabilities of each sequence are too large by in this release: a column."""
    shifted = op.Sub(logits, op.Max(logits, 2, keep_dims=True))
    steps = op.Log(op.Sum(op.Exp(shifted), 2))
    times = op.Range(0, op.StridedSlice(op.Shape(logits), [0], [1], [1], shrink_axis_mask=1), 1)
    is_step = op.Less(op.ExpandDims(times, 1), op.ExpandDims(lengths, 0))
    is_missing = op.LogicalAnd(_is_not_normalized(op), is_step)
    return op.ExpandDims(op.Sum(op.Select(is_missing, steps, op.ZerosLike(steps)), 0), 1)


def _is_not_normalized(op: NodeBuilder) -> Node:
    """Whether the release that runs the graph does not normalize: a matrix of one element."""
    logits = op.const(np.zeros(PROBED_SHAPE, np.float32))
    probe = op.node(DECODER, logits, op.const([1]), beam_width=1, top_paths=1)
    return op.Greater(probe.outputs[-1], op.const(LIKELY))
