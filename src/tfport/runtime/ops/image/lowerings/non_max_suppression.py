"""Non-maximum suppression, lowered to that of ONNX, which selects the same boxes in the same order.

Only float32 is lowered: with half-precision scores TensorFlow rounds overlaps to half precision.
"""

from __future__ import annotations

from tfport.graph.dtypes import FLOAT32, INT32, INT64
from tfport.runtime.lower import CannotLower, constant_of, lower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.known_values import is_never_negative
from tfport.runtime.operand import Operand
from tfport.runtime.ops.image.kernels.non_max_suppression import LOWEST


def _indices(
    b: Builder, boxes: Operand, scores: Operand, count: Operand, overlap: Operand, least: Operand
) -> Operand:
    if boxes.rank != 2 or scores.rank != 1 or count.rank != 0 or overlap.rank != 0 or least.rank != 0:
        raise CannotLower("the rank of boxes, scores, the size or a threshold is unknown or wrong")
    selected = b.NonMaxSuppression(
        b.unsqueeze(b.Reshape(boxes, b.ints(-1, 4)), 0),
        b.unsqueeze(scores, 0, 1),
        b.reshape(_positive(b, count), 1),
        b.reshape(overlap, 1),
        b.reshape(least, 1),
    )
    return b.reshape(b.Slice(selected, b.ints(2), b.ints(3), b.ints(1)), -1)


def _positive(b: Builder, count: Operand) -> Operand:
    """The count, with an error at run time if it is negative; ONNX Runtime would treat it as 0."""
    wide = b.int64(count)
    if is_never_negative(count):
        return wide
    return b.Add(wide, b.Gather(b.ints(0), b.cast(b.Less(wide, b.const(0, INT64)), INT64), axis=0))


@lower("NonMaxSuppression")
def nms(b, boxes, scores, max_output_size, *, iou_threshold):
    overlap, least = b.const(iou_threshold, FLOAT32), b.const(LOWEST, FLOAT32)
    return b.cast(_indices(b, boxes, scores, max_output_size, overlap, least), INT32)


@lower("NonMaxSuppressionV2", T=[FLOAT32], T_threshold=[FLOAT32])
def nms_v2(b, boxes, scores, max_output_size, iou_threshold):
    least = b.const(LOWEST, FLOAT32)
    return b.cast(_indices(b, boxes, scores, max_output_size, iou_threshold, least), INT32)


@lower("NonMaxSuppressionV3", T=[FLOAT32], T_threshold=[FLOAT32])
def nms_v3(b, boxes, scores, max_output_size, iou_threshold, score_threshold):
    return b.cast(_indices(b, boxes, scores, max_output_size, iou_threshold, score_threshold), INT32)


@lower("NonMaxSuppressionV4", T=[FLOAT32], T_threshold=[FLOAT32])
def nms_v4(b, boxes, scores, max_output_size, iou_threshold, score_threshold, *, pad_to_max_output_size):
    indices = _indices(b, boxes, scores, max_output_size, iou_threshold, score_threshold)
    valid = b.cast(b.squeeze(b.Shape(indices), 0), INT32)
    if pad_to_max_output_size:
        indices = _padded(b, indices, max_output_size)
    return b.cast(indices, INT32), valid


@lower("NonMaxSuppressionV5", T=[FLOAT32])
def nms_v5(
    b,
    boxes,
    scores,
    max_output_size,
    iou_threshold,
    score_threshold,
    soft_nms_sigma,
    *,
    pad_to_max_output_size,
):
    if float(constant_of(soft_nms_sigma, "soft_nms_sigma")) != 0:
        raise CannotLower("ONNX has no soft suppression")
    indices = _indices(b, boxes, scores, max_output_size, iou_threshold, score_threshold)
    valid = b.cast(b.squeeze(b.Shape(indices), 0), INT32)
    kept_scores = b.Gather(scores, indices, axis=0)
    if pad_to_max_output_size:
        indices, kept_scores = _padded(b, indices, max_output_size), _padded(b, kept_scores, max_output_size)
    return b.cast(indices, INT32), kept_scores, valid


def _padded(b: Builder, x: Operand, count: Operand) -> Operand:
    missing = b.Sub(b.reshape(b.int64(count), 1), b.Shape(x))
    return b.Pad(x, b.Concat(b.ints(0), missing, axis=0), b.const(0, x.dtype))
