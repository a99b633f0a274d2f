"""Detections of an exported ONNX file: the end of a detector, composed of ONNX's NonMaxSuppression.

`run` computes these ops on the host, which is faster. ONNX suppresses boxes as TensorFlow and TensorFlow Lite
do; where several scores of `CombinedNonMaxSuppression` are equal, the box with the lower index comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfport.graph.dtypes import FLOAT32, INT32, DType
from tfport.runtime.lower import CannotLower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand

FLOAT64 = DType.parse("float64")


def lite_detections(
    b: Builder, boxes: Operand, scores: Operand, anchors: Operand, **attrs: Any
) -> Sequence[Operand]:
    """`TFLite_Detection_PostProcess`: boxes, classes, scores and their number."""
    if boxes.rank != 3 or scores.rank != 3 or scores.shape is None or scores.shape[2] is None:
        raise CannotLower("the rank of boxes or scores, or the number of classes, is unknown")
    background = scores.shape[2] - attrs["num_classes"]
    if background not in (0, 1):
        raise CannotLower(f"there are scores of {scores.shape[2]} classes, expected {attrs['num_classes']}")
    corners = _corners(b, b.squeeze(boxes, 0), anchors, [attrs[f"{name}_scale"] for name in "yxhw"])
    scores = _columns(b, b.squeeze(scores, 0), background, scores.shape[2])
    by = _by_class if attrs["use_regular_nms"] else _by_box
    return by(b, corners, scores, attrs)


def _corners(b: Builder, boxes: Operand, anchors: Operand, scales: Sequence[float]) -> Operand:
    """Top, left, bottom and right of boxes that are stored as centers and sizes relative to anchors."""
    by = b.const(np.asarray(scales, np.float32), FLOAT64)
    wide, base = b.Div(b.cast(_columns(b, boxes, 0, 4), FLOAT64), by), b.cast(anchors, FLOAT64)
    sizes = _columns(b, base, 2, 4)
    center = b.cast(b.Add(b.Mul(_columns(b, wide, 0, 2), sizes), _columns(b, base, 0, 2)), FLOAT32)
    half = b.Mul(b.Mul(b.const(0.5, FLOAT64), b.Exp(_columns(b, wide, 2, 4))), sizes)
    half = b.cast(half, FLOAT32)
    return b.Concat(b.Sub(center, half), b.Add(center, half), axis=1)


def _columns(b: Builder, x: Operand, begin: int, end: int) -> Operand:
    return b.Slice(x, b.ints(begin), b.ints(end), b.ints(1))


def _suppressed(
    b: Builder, corners: Operand, scores: Operand, limit: int, attrs: dict[str, Any]
) -> tuple[Operand, Operand]:
    """The classes and boxes that stay, by class and score; scores have a row for each class."""
    # a score equal to the limit stays in TensorFlow Lite, but not in ONNX
    least = np.nextafter(np.float32(attrs["nms_score_threshold"]), np.float32(-np.inf))
    selected = b.NonMaxSuppression(
        b.unsqueeze(corners, 0),
        b.unsqueeze(scores, 0),
        b.ints(limit),
        b.const([attrs["nms_iou_threshold"]], FLOAT32),
        b.const([least], FLOAT32),
    )
    return tuple(b.reshape(_columns(b, selected, index, index + 1), -1) for index in (1, 2))  # type: ignore[return-value]


def _by_class(b: Builder, corners: Operand, scores: Operand, attrs: dict[str, Any]) -> Sequence[Operand]:
    """The best boxes of all classes, each suppressed only by those of its own class."""
    room = attrs["max_detections"]
    per_class = min(attrs["detections_per_class"], room)
    by_class = b.transpose(scores, (1, 0))
    classes, boxes = _suppressed(b, corners, by_class, per_class, attrs)
    of_rows = b.GatherND(by_class, b.Concat(b.unsqueeze(classes, 1), b.unsqueeze(boxes, 1), axis=1))
    count = b.Min(b.Shape(boxes), b.ints(room))
    kept, order = b.nodes("TopK", of_rows, count, outputs=2, axis=0)
    chosen = b.Gather(corners, b.Gather(boxes, order, axis=0), axis=0)
    return _filled(b, chosen, b.Gather(classes, order, axis=0), kept, room, count)


def _by_box(b: Builder, corners: Operand, scores: Operand, attrs: dict[str, Any]) -> Sequence[Operand]:
    """The best boxes, suppressed by those of any class, with the best classes of each."""
    step = attrs["max_classes_per_detection"]
    columns = min(step, attrs["num_classes"])
    best = b.ReduceMax(scores, b.ints(1), keepdims=0)
    _, boxes = _suppressed(b, corners, b.unsqueeze(best, 0), attrs["max_detections"], attrs)
    rows = b.Gather(scores, boxes, axis=0)
    kept, classes = b.nodes("TopK", rows, b.ints(columns), outputs=2, axis=1)
    chosen = b.Tile(b.unsqueeze(b.Gather(corners, boxes, axis=0), 1), b.ints(1, columns, 1))
    if step > columns:
        kept, classes = (_padded(b, x, b.ints(0, 0, 0, step - columns)) for x in (kept, classes))
        chosen = _padded(b, chosen, b.ints(0, 0, 0, 0, step - columns, 0))
    flat = b.reshape(chosen, -1, 4), b.reshape(classes, -1), b.reshape(kept, -1)
    return _filled(b, *flat, attrs["max_detections"] * step, b.Shape(boxes))


def _filled(
    b: Builder, boxes: Operand, classes: Operand, scores: Operand, room: int, count: Operand
) -> Sequence[Operand]:
    """The outputs: chosen boxes with their classes and scores, then zeros."""
    missing = b.Sub(b.ints(room), b.Shape(scores))
    ends = b.Concat(b.ints(0), missing, axis=0)
    boxes = b.Reshape(
        _padded(b, boxes, b.Concat(b.ints(0, 0), missing, b.ints(0), axis=0)), b.ints(1, room, 4)
    )
    rows = (b.Reshape(_padded(b, b.cast(x, FLOAT32), ends), b.ints(1, room)) for x in (classes, scores))
    return [boxes, *rows, b.cast(count, FLOAT32)]


def _padded(b: Builder, x: Operand, pads: Operand) -> Operand:
    return b.Pad(x, pads, b.const(0, x.dtype))


def combined_suppression(
    b: Builder,
    boxes: Operand,
    scores: Operand,
    per_class: Operand,
    total: Operand,
    overlap: Operand,
    least: Operand,
    *,
    pad_per_class: bool,
    clip_boxes: bool,
    **_: Any,
) -> Sequence[Operand]:
    """`CombinedNonMaxSuppression`: boxes, scores, classes and their number, for each image."""
    if boxes.rank != 4 or scores.rank != 3 or boxes.shape is None or boxes.shape[2] is None:
        raise CannotLower("the rank of boxes or scores, or the number of their classes, is unknown")
    sizes = b.Shape(scores)
    images, count, classes = (b.Slice(sizes, b.ints(i), b.ints(i + 1), b.ints(0)) for i in range(3))
    by_class = b.transpose(scores, (0, 2, 1))
    limits = b.vector(per_class), b.reshape(overlap, 1), b.reshape(least, 1)
    if boxes.shape[2] == 1:
        selected = b.NonMaxSuppression(b.squeeze(boxes, 2), by_class, *limits)
        image, column, box = (_columns(b, selected, index, index + 1) for index in range(3))
    else:  # each class of an image has boxes of its own: an image of one class for ONNX
        rows = b.Reshape(b.transpose(boxes, (0, 2, 1, 3)), b.Concat(b.ints(-1), count, b.ints(4), axis=0))
        of_rows = b.Reshape(by_class, b.Concat(b.ints(-1, 1), count, axis=0))
        selected = b.NonMaxSuppression(rows, of_rows, *limits)
        both, box = (_columns(b, selected, index, index + 1) for index in (0, 2))
        image, column = b.Div(both, classes), b.Mod(both, classes)
    all_scores = b.Reshape(by_class, b.Concat(images, b.ints(-1), axis=0))
    at = b.Concat(image, b.Add(b.Mul(column, count), box), axis=1)
    lowest = b.Expand(b.const(-np.inf, FLOAT32), b.Shape(all_scores))
    kept = b.ScatterND(lowest, at, b.GatherND(all_scores, at))
    size = b.vector(total)
    if pad_per_class:
        size = b.Min(size, b.Mul(b.vector(per_class), classes))
    best, order = b.nodes("TopK", kept, b.Min(size, b.Mul(count, classes)), outputs=2, axis=1)
    box, column = b.Mod(order, count), b.Div(order, count)
    pairs = [b.unsqueeze(x, 2) for x in (box, b.Min(column, b.ints(boxes.shape[2] - 1)))]
    chosen = b.GatherND(boxes, b.Concat(*pairs, axis=2), batch_dims=1)
    if clip_boxes:
        chosen = b.Clip(chosen, b.const(0, FLOAT32), b.const(1, FLOAT32))
    valid = b.Greater(best, b.const(-np.inf, FLOAT32))
    missing = b.Sub(size, b.Slice(b.Shape(best), b.ints(1), b.ints(2), b.ints(0)))
    ends = b.Concat(b.ints(0, 0, 0), missing, axis=0)
    zero = b.const(0, FLOAT32)
    chosen = b.Where(b.unsqueeze(valid, 2), chosen, zero)
    return [
        _padded(b, chosen, b.Concat(b.ints(0, 0, 0, 0), missing, b.ints(0), axis=0)),
        _padded(b, b.Where(valid, best, zero), ends),
        _padded(b, b.Where(valid, b.cast(column, FLOAT32), zero), ends),
        b.ReduceSum(b.cast(valid, INT32), b.ints(1), keepdims=0),
    ]


Composed = dict[str, Callable[..., Sequence[Operand]]]
"""How an op is composed of ONNX's, by its name."""
DETECTIONS: Composed = {
    "TFLite_Detection_PostProcess": lite_detections,
    "CombinedNonMaxSuppression": combined_suppression,
}
