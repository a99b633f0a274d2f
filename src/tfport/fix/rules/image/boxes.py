"""Non-max suppression, image transforms, and space to batch, as their other versions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.fix.nodes.builder import RuleBuilder, attrs_without
from tfport.fix.rule import EXACT, LOSSY, OtherProblem, Replacement, refuse, rule
from tfport.graph.dtypes import FLOAT32, INT32
from tfport.graph.graph import Node, Value

LOWEST = float(np.finfo(np.float32).min)


@rule("NonMaxSuppressionV5", keeps=EXACT)
def without_soft_scores(op: RuleBuilder, n: Node) -> Replacement:
    """If soft_nms_sigma is 0, NonMaxSuppressionV4 selects the same boxes, and scores are unchanged."""
    boxes, scores, most, overlap, least, sigma = n.inputs
    if (known := op.array(sigma)) is None or known != 0:
        return refuse(f"soft_nms_sigma is {'not constant' if known is None else known}")
    selected = op.NonMaxSuppressionV4(boxes, scores, most, overlap, least, pad_to_max_output_size=False)
    chosen, count = selected.outputs
    best = op.GatherV2(scores, chosen, 0).output(0)
    if n.attrs["pad_to_max_output_size"]:
        return [_filled(op, chosen, most), _filled(op, best, most), count]
    return [chosen, best, count]


@rule("NonMaxSuppressionV5", keeps=LOSSY)
def soft_without_threshold(op: RuleBuilder, n: Node) -> Replacement:
    """With an iou_threshold of 1, releases until 2.4 drop only exact copies of a selected box."""
    boxes, scores, most, overlap, least, sigma = n.inputs
    if not op.has(n.op):
        return OtherProblem("the target has no such op")
    if not op.array(sigma):
        return refuse("soft_nms_sigma is 0 or not constant")
    if op.array(overlap) == 1:
        return refuse("iou_threshold is 1")
    dtype = boxes.dtype.base.numpy
    return op.NonMaxSuppressionV5(boxes, scores, most, op.const(dtype.type(1)), least, sigma, **n.attrs)


@rule("NonMaxSuppressionV4", keeps=EXACT)
def without_padding(op: RuleBuilder, n: Node) -> Replacement:
    """NonMaxSuppressionV3 selects the same boxes; they are counted and padded with zeros."""
    chosen = op.NonMaxSuppressionV3(*n.inputs, **attrs_without(n, "pad_to_max_output_size")).output(0)
    count = op.Size(chosen, out_type=INT32).output(0)
    return [_filled(op, chosen, n.inputs[2]) if n.attrs["pad_to_max_output_size"] else chosen, count]


@rule("NonMaxSuppressionV3", keeps=EXACT)
def without_score_threshold(op: RuleBuilder, n: Node) -> Replacement:
    """Only the boxes with scores above score_threshold are passed to NonMaxSuppressionV2."""
    boxes, scores, most, overlap, least = n.inputs
    known = op.array(least)
    if known is not None and known <= LOWEST:  # V2 does not select boxes of the lowest score either
        return op.NonMaxSuppressionV2(boxes, scores, most, overlap, **n.attrs)
    threshold = least if least.dtype.base == scores.dtype.base else op.Cast(least, DstT=scores.dtype.base)
    above = op.Reshape(op.Where(op.Greater(scores, threshold)), [-1])
    kept = op.Cast(above, DstT=INT32)
    picked = op.GatherV2(boxes, kept, 0), op.GatherV2(scores, kept, 0)
    return op.GatherV2(kept, op.NonMaxSuppressionV2(*picked, most, overlap, **n.attrs), 0)


@rule("NonMaxSuppressionV2", keeps=EXACT)
def with_constant_overlap(op: RuleBuilder, n: Node) -> Replacement:
    """NonMaxSuppression takes iou_threshold as an attribute."""
    boxes, scores, most, overlap = n.inputs
    if (known := op.array(overlap)) is None:
        return refuse("iou_threshold is not constant")
    if boxes.dtype.base != FLOAT32:
        return refuse(f"NonMaxSuppression does not support {boxes.dtype.base}")
    return op.NonMaxSuppression(boxes, scores, most, iou_threshold=float(known))


@rule("NonMaxSuppression", keeps=EXACT)
def with_overlap_as_input(op: RuleBuilder, n: Node) -> Replacement:
    """NonMaxSuppressionV2 takes iou_threshold as an input."""
    return op.NonMaxSuppressionV2(*n.inputs, n.attrs["iou_threshold"])


@rule("NonMaxSuppressionV2", keeps=EXACT)
def with_any_score(op: RuleBuilder, n: Node) -> Replacement:
    """NonMaxSuppressionV3 with the lowest possible score_threshold selects the same boxes."""
    dtype = n.inputs[3].dtype.base
    least = op.const(float(np.finfo(dtype.numpy).min), dtype)
    return op.NonMaxSuppressionV3(*n.inputs, least, **n.attrs)


@rule("NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4", keeps=EXACT)
def boxes_in_float32(op: RuleBuilder, n: Node) -> Replacement:
    """Short floats are cast to float32, as the kernels do."""
    dtypes = {value.dtype.base for index, value in enumerate(n.inputs) if index != 2}
    if dtypes == {FLOAT32}:
        return OtherProblem("its numbers are float32 already")
    boxes, scores, most, *thresholds = n.inputs
    wide = [_wide(op, operand) for operand in (boxes, scores, *thresholds)]
    node = op.node(n.op, *wide[:2], most, *wide[2:], **attrs_without(n, "T", "T_threshold"))
    return list(node.outputs)


def _wide(op: RuleBuilder, value: Value) -> Any:
    return value if value.dtype.base == FLOAT32 else op.Cast(value, DstT=FLOAT32)


def _filled(op: RuleBuilder, value: Value, length: Value) -> Value:
    """A vector padded with zeros to a length."""
    missing = op.Sub(length, op.Size(value, out_type=INT32))
    return op.Pad(value, op.Pack([op.Pack([0, missing])])).output(0)


@rule("ImageProjectiveTransformV3", keeps=EXACT)
def filled_with_zeros(op: RuleBuilder, n: Node) -> Replacement:
    """ImageProjectiveTransformV2 fills with zeros."""
    if n.attrs["fill_mode"] != "CONSTANT":
        return refuse(
            f"releases that have only ImageProjectiveTransformV2 fill differently with {n.attrs['fill_mode']}"
        )
    if (known := op.array(n.inputs[3])) is None or known != 0:
        return refuse(f"fill_value is {'not constant' if known is None else known}")
    return op.ImageProjectiveTransformV2(*n.inputs[:3], **n.attrs)


@rule("SpaceToBatch BatchToSpace", keeps=EXACT)
def in_any_dimensions(op: RuleBuilder, n: Node) -> Replacement:
    """SpaceToBatchND and BatchToSpaceND take a block size for each spatial axis."""
    image, margins = n.inputs
    return op.node(f"{n.op}ND", image, [n.attrs["block_size"]] * 2, margins)


@rule("SpaceToBatchND BatchToSpaceND", keeps=EXACT)
def in_two_dimensions(op: RuleBuilder, n: Node) -> Replacement:
    """SpaceToBatch and BatchToSpace take one block size for two spatial axes."""
    image, blocks, margins = n.inputs
    known, dims = op.array(blocks), op.shape(image)
    if known is None or known.size != 2 or known[0] != known[1] or known[0] < 2:
        return refuse(f"its block_shape is {'not constant' if known is None else known.tolist()}")
    if dims is None or len(dims) != 4:
        return refuse(f"the shape of its image is {dims}")
    return op.node(n.op.removesuffix("ND"), image, margins, block_size=int(known[0]))
