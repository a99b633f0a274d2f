"""Decoders of beams whose log probabilities some releases do not normalize, and how a graph corrects them.

A corrected graph decodes a constant too, whose log probability says whether the release normalizes
(`fix.structure.adapt_to_release`): it gives the same answer in every release.
"""

from __future__ import annotations

from tfport.graph.constants import constant
from tfport.graph.graph import Node, Value

DECODER = "CTCBeamSearchDecoder"
PROBED_SHAPE = (1, 1, 2)
"""The shape of the zeros that a corrected graph decodes: one step of two classes."""

CORRECTION = ("ExpandDims", "Sum", "Select", "LogicalAnd", "Greater")
"""The ops between what is subtracted and the decoded constant."""


def uncorrected(node: Node) -> Value | None:
    """The log probability of a decoder, unless only a correction reads it."""
    if node.op != DECODER or len(node.inputs) != 2 or not node.outputs or is_probe(node):
        return None
    value = node.outputs[-1]
    readers = value.uses
    return None if readers and all(_corrects(reader, value) for reader in readers) else value


def is_probe(node: Node) -> bool:
    """Whether a decoder only shows whether the release normalizes."""
    logits = constant(node.inputs[0]) if node.op == DECODER and node.inputs else None
    return logits is not None and logits.shape.dims == PROBED_SHAPE and not logits.numpy().any()


def _corrects(node: Node, value: Value) -> bool:
    """Whether a node subtracts a number that depends on a decoded constant."""
    if node.op != "Sub" or len(node.inputs) != 2 or node.inputs[0] is not value:
        return False
    before = node.inputs[1].node
    for op in CORRECTION:
        if before.op != op or not before.inputs:
            return False
        before = before.inputs[0].node
    return is_probe(before)
