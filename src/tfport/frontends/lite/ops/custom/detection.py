"""Custom ops of interpreters: detections, and the comparison of quantized tensors with real ones."""

from __future__ import annotations

from typing import Any

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import custom
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Value


@custom("TFLite_Detection_PostProcess")
def detection_post_process(
    b: OperatorBuilder,
    boxes: LiteValue,
    scores: LiteValue,
    anchors: LiteValue,
    *,
    max_detections: int,
    max_classes_per_detection: int,
    detections_per_class: int = 100,
    use_regular_nms: bool = False,
    nms_score_threshold: float,
    nms_iou_threshold: float,
    num_classes: int,
    y_scale: float,
    x_scale: float,
    h_scale: float,
    w_scale: float,
) -> list[Value]:
    """Boxes, classes, scores and their number."""
    node = b.TFLite_Detection_PostProcess(
        *(_real(b, x) for x in (boxes, scores, anchors)),
        max_detections=max_detections,
        max_classes_per_detection=max_classes_per_detection,
        detections_per_class=detections_per_class,
        use_regular_nms=bool(use_regular_nms),
        nms_score_threshold=float(nms_score_threshold),
        nms_iou_threshold=float(nms_iou_threshold),
        num_classes=num_classes,
        y_scale=float(y_scale),
        x_scale=float(x_scale),
        h_scale=float(h_scale),
        w_scale=float(w_scale),
    )
    return [node.output(index) for index in range(4)]


@custom("NumericVerify")
def numeric_verify(
    b: OperatorBuilder,
    x: LiteValue,
    reference: LiteValue,
    *,
    tolerance: float = 0.0,
    log_if_failed: bool = False,
) -> Value:
    """By how much a quantized tensor differs from what it stands for."""
    if log_if_failed and tolerance >= 0.1:
        raise b.refuse("a check that fails above a tolerance is not supported")
    real = _real(b, x) if x.is_quantized else b.cast(x, FLOAT32)
    return b.Sub(real, reference).output(0)


def _real(b: OperatorBuilder, x: LiteValue) -> Any:
    """The numbers that integers stand for."""
    if not x.is_quantized:
        return x
    return b.Mul(b.Sub(b.cast(x, FLOAT32), float(x.zero_point)), x.scale)
