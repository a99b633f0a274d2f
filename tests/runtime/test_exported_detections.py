"""The end of a detector in an exported ONNX file selects the boxes that the host kernel selects."""

import numpy as np
import onnxruntime as ort
import pytest

from tfport.graph.dtypes import FLOAT32, INT32
from tfport.runtime.export import USUAL, island_of
from tfport.runtime.exported_detections import combined_suppression, lite_detections
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.file import write_onnx
from tfport.runtime.operand import Operand
from tfport.runtime.ops.image.kernels.non_max_suppression import combined_nms
from tfport.runtime.ops.lite.kernels.detection import detections
from tfport.runtime.program import Program, Step

DRAW = np.random.default_rng(0)
LITE = {
    "max_detections": 7,
    "max_classes_per_detection": 1,
    "detections_per_class": 5,
    "use_regular_nms": False,
    "nms_score_threshold": 0.25,
    "nms_iou_threshold": 0.5,
    "num_classes": 4,
    "y_scale": 10.0,
    "x_scale": 10.0,
    "h_scale": 5.0,
    "w_scale": 5.0,
}


def answers_of(lowering, shapes, constants, attrs, inputs, folder):
    """The answers of a file with one lowered op, and shapes of its inputs with unknown sizes."""
    args = [Operand(FLOAT32, shape) for shape in shapes]
    b = Builder("test")
    results = list(lowering(b, *args, *constants(b), **attrs))
    names = [f"x{i}" for i in range(len(args))]
    program = Program(args, [Step("", "", (), (), b.added)], results)
    outputs = [f"y{i}" for i in range(len(results))]
    write_onnx(island_of(program, names, outputs, USUAL), folder / "m.onnx", external_data=False)
    engine = ort.InferenceSession(str(folder / "m.onnx"), providers=["CPUExecutionProvider"])
    return engine.run(outputs, dict(zip(names, inputs, strict=True)))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"max_classes_per_detection": 3},
        {"max_classes_per_detection": 6},
        {"use_regular_nms": True},
        {"use_regular_nms": True, "max_detections": 3},
        {"nms_score_threshold": 2.0},
        {"nms_score_threshold": 2.0, "use_regular_nms": True},
        {"num_classes": 5},
        {"max_detections": 100, "nms_score_threshold": -1.0},
    ],
    ids=str,
)
def test_lite_detections(change, tmp_path):
    attrs = {**LITE, **change}
    boxes = DRAW.standard_normal((1, 30, 4)).astype(np.float32)
    scores = np.round(DRAW.random((1, 30, 5)), 1).astype(np.float32)  # many are equal, also to the limit
    anchors = np.abs(DRAW.standard_normal((30, 4))).astype(np.float32)
    shapes = [(1, None, 4), (1, None, 5), (None, 4)]
    given = boxes, scores, anchors
    answers = answers_of(lite_detections, shapes, lambda b: (), attrs, given, tmp_path)
    expected = detections(*given, **attrs)
    for answer, wanted in zip(answers, expected, strict=True):
        np.testing.assert_array_equal(answer.shape, wanted.shape)
        np.testing.assert_allclose(answer, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("own_boxes", [False, True])
@pytest.mark.parametrize("pad_per_class", [False, True])
@pytest.mark.parametrize(("clip_boxes", "total", "least"), [(True, 9, 0.3), (False, 100, 0.1), (True, 5, 2)])
def test_combined_suppression(own_boxes, pad_per_class, clip_boxes, total, least, tmp_path):
    attrs = {"pad_per_class": pad_per_class, "clip_boxes": clip_boxes}
    count = 4 if own_boxes else 1
    corner = DRAW.random((3, 25, count, 2))
    boxes = np.concatenate([corner, corner + DRAW.random((3, 25, count, 2))], 3).astype(np.float32)
    scores = DRAW.permutation(300).reshape(3, 25, 4).astype(np.float32) / 300

    def limits(b):
        return b.const(3, INT32), b.const(total, INT32), b.const(0.4, FLOAT32), b.const(least, FLOAT32)

    shapes = [(None, None, count, 4), (None, None, 4)]
    answers = answers_of(combined_suppression, shapes, limits, attrs, (boxes, scores), tmp_path)
    scalars = np.int32(3), np.int32(total), np.float32(0.4), np.float32(least)
    expected = combined_nms(boxes, scores, *map(np.asarray, scalars), **attrs)
    for answer, wanted in zip(answers, expected, strict=True):
        np.testing.assert_array_equal(answer, wanted)
        assert answer.dtype == wanted.dtype
