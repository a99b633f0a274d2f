"""Boxes among which the best are chosen, and images cut and moved, under older names."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.fix.rules.nn.windows import without
from tfport.graph.dtypes import FLOAT32, INT32
from tfport.graph.graph import Node, Value

LOWEST = float(np.finfo(np.float32).min)


@rule("NonMaxSuppressionV5", keeps=EXACT)
def without_soft_scores(op: NodeBuilder, n: Node) -> Replacement:
    """Where soft_nms_sigma is 0, NonMaxSuppressionV4 chooses the same boxes, and their scores stay."""
    boxes, scores, most, overlap, least, sigma = n.inputs
    if (known := op.constant(sigma)) is None or known != 0:
        return refuse(f"soft_nms_sigma is {'computed' if known is None else known}")
    made = op.NonMaxSuppressionV4(boxes, scores, most, overlap, least, pad_to_max_output_size=False)
    chosen, count = made.outputs
    best = op.GatherV2(scores, chosen, 0).output(0)
    if n.attrs["pad_to_max_output_size"]:
        return [_filled(op, chosen, most), _filled(op, best, most), count]
    return [chosen, best, count]


@rule("NonMaxSuppressionV4", keeps=EXACT)
def without_padding(op: NodeBuilder, n: Node) -> Replacement:
    """NonMaxSuppressionV3 chooses the same boxes; their number is counted and zeros are put behind them."""
    chosen = op.NonMaxSuppressionV3(*n.inputs, **without(n, "pad_to_max_output_size")).output(0)
    count = op.Size(chosen, out_type=INT32).output(0)
    return [_filled(op, chosen, n.inputs[2]) if n.attrs["pad_to_max_output_size"] else chosen, count]


@rule("NonMaxSuppressionV3", keeps=EXACT)
def without_score_threshold(op: NodeBuilder, n: Node) -> Replacement:
    """NonMaxSuppressionV2 is given only the boxes whose scores are above score_threshold."""
    boxes, scores, most, overlap, least = n.inputs
    known = op.constant(least)
    if known is not None and known <= LOWEST:  # V2 does not choose what has the lowest score either
        return op.NonMaxSuppressionV2(boxes, scores, most, overlap, **n.attrs)
    threshold = least if least.dtype.base == scores.dtype.base else op.Cast(least, DstT=scores.dtype.base)
    above = op.Reshape(op.Where(op.Greater(scores, threshold)), [-1])
    kept = op.Cast(above, DstT=INT32)
    picked = op.GatherV2(boxes, kept, 0), op.GatherV2(scores, kept, 0)
    return op.GatherV2(kept, op.NonMaxSuppressionV2(*picked, most, overlap, **n.attrs), 0)


@rule("NonMaxSuppressionV2", keeps=EXACT)
def with_constant_overlap(op: NodeBuilder, n: Node) -> Replacement:
    """NonMaxSuppression has iou_threshold as an attribute."""
    boxes, scores, most, overlap = n.inputs
    if (known := op.constant(overlap)) is None:
        return refuse("iou_threshold is computed")
    if boxes.dtype.base != FLOAT32:
        return refuse(f"NonMaxSuppression takes no {boxes.dtype.base}")
    return op.NonMaxSuppression(boxes, scores, most, iou_threshold=float(known))


@rule("NonMaxSuppression", keeps=EXACT)
def with_overlap_as_input(op: NodeBuilder, n: Node) -> Replacement:
    """NonMaxSuppressionV2 is given iou_threshold as an input."""
    return op.NonMaxSuppressionV2(*n.inputs, n.attrs["iou_threshold"])


@rule("NonMaxSuppressionV2", keeps=EXACT)
def with_any_score(op: NodeBuilder, n: Node) -> Replacement:
    """NonMaxSuppressionV3 with the lowest score_threshold there is chooses the same boxes."""
    kind = n.inputs[3].dtype.base
    least = op.const(float(np.finfo(kind.numpy).min), kind)
    return op.NonMaxSuppressionV3(*n.inputs, least, **n.attrs)


@rule("NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4", keeps=EXACT)
def boxes_in_float32(op: NodeBuilder, n: Node) -> Replacement:
    """Short floats are compared in float32 by the kernels too."""
    kinds = {value.dtype.base for place, value in enumerate(n.inputs) if place != 2}
    if kinds == {FLOAT32}:
        return refuse("its numbers are float32")
    boxes, scores, most, *thresholds = n.inputs
    wide = [_wide(op, operand) for operand in (boxes, scores, *thresholds)]
    made = op.node(n.op, *wide[:2], most, *wide[2:], **without(n, "T", "T_threshold"))
    return list(made.outputs)


def _wide(op: NodeBuilder, value: Value) -> Any:
    return value if value.dtype.base == FLOAT32 else op.Cast(value, DstT=FLOAT32)


def _filled(op: NodeBuilder, value: Value, length: Value) -> Value:
    """A vector with zeros behind it until it has a length."""
    missing = op.Sub(length, op.Size(value, out_type=INT32))
    return op.Pad(value, op.Pack([op.Pack([0, missing])])).output(0)


@rule("ImageProjectiveTransformV3", keeps=EXACT)
def filled_with_zeros(op: NodeBuilder, n: Node) -> Replacement:
    """ImageProjectiveTransformV2 fills with zeros, or from the image as fill_mode says."""
    known = op.constant(n.inputs[3])
    if n.attrs["fill_mode"] == "CONSTANT" and (known is None or known != 0):
        return refuse(f"fill_value is {'computed' if known is None else known}")
    return op.ImageProjectiveTransformV2(*n.inputs[:3], **n.attrs)


@rule("SpaceToBatch BatchToSpace", keeps=EXACT)
def in_any_dimensions(op: NodeBuilder, n: Node) -> Replacement:
    """SpaceToBatchND and BatchToSpaceND have a block for each dimension, here the same for two."""
    image, margins = n.inputs
    return op.node(f"{n.op}ND", image, [n.attrs["block_size"]] * 2, margins)


@rule("SpaceToBatchND BatchToSpaceND", keeps=EXACT)
def in_two_dimensions(op: NodeBuilder, n: Node) -> Replacement:
    """SpaceToBatch and BatchToSpace have one block for two dimensions."""
    image, blocks, margins = n.inputs
    known, dims = op.constant(blocks), op.shape(image)
    if known is None or known.size != 2 or known[0] != known[1] or known[0] < 2:
        return refuse(f"its blocks are {'computed' if known is None else known.tolist()}")
    if dims is None or len(dims) != 4:
        return refuse(f"the shape of its image is {dims}")
    return op.node(n.op.removesuffix("ND"), image, margins, block_size=int(known[0]))
