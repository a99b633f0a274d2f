"""Detections, with both kinds of suppression."""

import numpy as np
import pytest
from flatbuffers import flexbuffers
from tests.frontends.lite.cases import case, check, checks, const, out, q
from tests.runtime.answers import recorded_answers
from tests.runtime.cases import assert_same, f16, f32, graph_case, i8, numbers, run

import tfport
from tfport.formats.lite.flexbuffer import custom_options

OPTIONS = {
    "max_detections": 3, "max_classes_per_detection": 1, "detections_per_class": 2, "use_regular_nms": False,
    "nms_score_threshold": 0.3, "nms_iou_threshold": 0.5, "num_classes": 4,
    "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
}  # fmt: skip
BOXES = numbers(1, 12, 4, low=-3, high=3)
ANCHORS = numbers(12, 4, low=0.3, high=0.7, seed=1)
SCORES = numbers(1, 12, 5, low=0, high=1, seed=2)
OUTPUTS = [out("FLOAT32")] * 4


def _case(boxes=BOXES, scores=SCORES, anchors=ANCHORS, without=(), **options):
    stored = {name: value for name, value in {**OPTIONS, **options}.items() if name not in without}
    return case(
        "CUSTOM",
        boxes,
        scores,
        const(anchors),
        custom="TFLite_Detection_PostProcess",
        custom_options=bytes(flexbuffers.Dumps(stored)),
        outputs=OUTPUTS,
    )


def _bytes(array, scale, zero_point):
    return q(np.clip(np.round(array / scale) + zero_point, 0, 255).astype(np.uint8), scale, zero_point)


CASES = [
    _case(),
    _case(nms_iou_threshold=0.1),
    _case(max_classes_per_detection=2, nms_iou_threshold=0.9),
    _case(without=("detections_per_class", "use_regular_nms")),
    _case(use_regular_nms=True),
    _case(use_regular_nms=True, nms_score_threshold=0.8, max_detections=9),
    _case(use_regular_nms=True, max_detections=9, detections_per_class=100),
    _case(num_classes=5, use_regular_nms=True),
    _case(nms_score_threshold=0.99, use_regular_nms=True),
    _case(
        _bytes(BOXES, 0.05, 128),
        _bytes(SCORES, 1 / 256, 0),
        _bytes(ANCHORS, 0.01, 3),
        use_regular_nms=True,
    ),
    _case(num_classes=3, use_regular_nms=True),
]
CASES[-1].fails = True
MANY = (
    numbers(1, 3000, 4, low=-3, high=3, seed=4),
    numbers(1, 3000, 21, low=0, high=1, seed=5),
    numbers(3000, 4, low=0.3, high=0.7, seed=6),
)
CASES += [
    _case(*MANY, num_classes=20, max_detections=10, nms_score_threshold=1e-8, nms_iou_threshold=0.6),
    _case(*MANY, num_classes=20, max_detections=40, nms_iou_threshold=0.01),
    _case(*MANY, num_classes=20, max_detections=20, detections_per_class=100, use_regular_nms=True),
]
VERIFY = {"custom": "NumericVerify", "outputs": [out("FLOAT32")]}
CASES += [
    case(
        "CUSTOM",
        q(i8(1, -7, 30), 0.5, 3),
        f32(-1, -4.75, 14),
        custom_options=bytes(flexbuffers.Dumps({"tolerance": 0.0, "log_if_failed": False})),
        **VERIFY,
    ),
    case(
        "CUSTOM",
        f16(1, 2.5),
        f32(1.25, 2),
        custom_options=bytes(flexbuffers.Dumps({"tolerance": 0.05, "log_if_failed": True})),
        **VERIFY,
    ),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_detection(c):
    check("detection", c)


def _graph(**options):
    """The op in a GraphDef, as the Object Detection API writes it; no TensorFlow runs this."""
    attrs = ", ".join(f"{name}={str(value).lower()}" for name, value in {**OPTIONS, **options}.items())
    text = f"""b = Placeholder() {{dtype=float32}}
               s = Placeholder() {{dtype=float32}}
               a = Placeholder() {{dtype=float32}}
               y = TFLite_Detection_PostProcess(b, s, a) {{{attrs}}}"""
    fetches = [f"y:{index}" for index in range(4)]
    return graph_case(text, fetches=fetches, name="detections", b=BOXES, s=SCORES, a=ANCHORS)


@pytest.mark.parametrize("options", [{}, {"use_regular_nms": True}], ids=str)
def test_a_graph_with_the_op_answers_like_the_custom_op(options):
    answers = recorded_answers("lite_detection")[_case(**options).name]
    for ours, theirs in zip(run(_graph(**options), "host"), answers, strict=True):
        assert_same(ours, theirs, _graph(**options))


def test_tensorflow_refuses_a_graph_with_the_op():
    model = tfport.load(_graph().model("fed")[0].SerializeToString())
    (finding,) = tfport.check(model, on="tensorflow==2.21.0").findings
    assert finding.code == "TFP102"
    assert finding.cause() == "a TensorFlow Lite op, which its converter copies into the .tflite file"
    assert tfport.check(model, on="tfport").verdict == "runs"


def test_a_missing_option_is_named():
    c = _case(without=("num_classes",))
    assert "num_classes" not in custom_options(c.custom_options)
    assert "it has no option num_classes" in tfport.load(c.model).no_graph
