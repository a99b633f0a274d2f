"""CTC decoders and losses: the index of the blank class, and dtypes."""

from __future__ import annotations

import numpy as np

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import LOSSY, ROUNDING, OtherProblem, Replacement, refuse, rule
from tfport.graph.dtypes import FLOAT32, INT64, DType
from tfport.graph.graph import Node, Value

FLOAT64 = DType.parse("float64")
FLAGS = ("preprocess_collapse_repeated", "ctc_merge_repeated", "ignore_longer_outputs_than_inputs")


@rule("CTCGreedyDecoder", keeps=ROUNDING)
def blank_behind_the_other_classes(op: RuleBuilder, n: Node) -> Replacement:
    """The blank class is moved to the end; the classes after it that do not score more are not chosen."""
    blank = n.attrs["blank_index"]
    assert isinstance(blank, int)
    if blank < -1:
        dims = op.shape(n.inputs[0])
        if dims is None or len(dims) != 3 or dims[2] is None:
            return refuse(f"blank_index={blank} counts from the end of an unknown number of classes")
        blank += dims[2]
    if blank == -1:
        return OtherProblem("its blank is already the last class")
    inputs = n.inputs[0]
    before = [_classes(op, inputs, 0, blank)] if blank else []
    own = _classes(op, inputs, blank, blank + 1)
    behind = _beaten(op, _classes(op, inputs, blank + 1, 0, end_mask=True), own)
    decoder = op.CTCGreedyDecoder(
        op.ConcatV2([*before, behind, own], 2),
        n.inputs[1],
        merge_repeated=n.attrs["merge_repeated"],
        blank_index=-1,
    )
    decoded = decoder.output(1)
    moved = op.Cast(op.GreaterEqual(decoded, op.const(blank, INT64)), DstT="int64")
    return [decoder.output(0), op.Add(decoded, moved), decoder.output(2), decoder.output(3)]


def _beaten(op: RuleBuilder, classes: Node, blank: Node) -> Node:
    """The scores of classes, the lowest one where the blank was chosen before them at an equal score."""
    lowest = op.const(-np.inf, blank.output(0).dtype.base)
    beaten = op.LessEqual(classes, blank)
    return op.Select(beaten, op.Add(op.ZerosLike(classes), lowest), classes)


@rule("CTCLossV2", keeps=ROUNDING)
def blank_as_the_last_class(op: RuleBuilder, n: Node) -> Replacement:
    """The blank class is moved to the end: it is the last class in CTCLoss, and the first in CTCLossV2."""
    inputs, index, labels, length = n.inputs
    loss = op.CTCLoss(
        op.ConcatV2([_classes(op, inputs, 1, 0, end_mask=True), _classes(op, inputs, 0, 1)], 2),
        index,
        op.Sub(labels, 1),
        length,
        **{name: n.attrs[name] for name in FLAGS},
    )
    gradient = loss.output(1)
    first = _classes(op, gradient, -1, 0, end_mask=True)
    return [loss.output(0), op.ConcatV2([first, _classes(op, gradient, 0, -1)], 2)]


@rule("CTCLoss CTCGreedyDecoder CTCBeamSearchDecoder", keeps=LOSSY)
def in_single_precision(op: RuleBuilder, n: Node) -> Replacement:
    """Float64 numbers are computed in float32."""
    if n.attrs["T"] != FLOAT64:
        return OtherProblem("its numbers are float32 already")
    attrs = {name: value for name, value in n.attrs.items() if name != "T"}
    node = op.node(n.op, op.Cast(n.inputs[0], DstT="float32"), *n.inputs[1:], **attrs, T=FLOAT32)
    return [op.Cast(output, DstT="float64") if output.dtype == FLOAT32 else output for output in node.outputs]


def _classes(op: RuleBuilder, value: Value, start: int, end: int, *, end_mask: bool = False) -> Node:
    """A range of classes, which are the last of three axes."""
    return op.StridedSlice(
        value, [0, 0, start], [0, 0, end], [1, 1, 1], begin_mask=3, end_mask=7 if end_mask else 3
    )
