"""Where steps run that a GPU must not compute: in the engine on the CPU, with what follows them."""

import numpy as np
import pytest
from tests.runtime.engines.gpu.on_cpu import engine_on_cpu
from tests.runtime.programs import session_of

from tfport.runtime.plan import cut_into_stages

DETECTOR = """
    image = Placeholder() {dtype=float32, shape=(1, 8, 8, 1)}
    filter = Const() {dtype=float32, value=float32(1, 1, 1, 5)[1, -1, 2, 3, 1]}
    features = Conv2D(image, filter) {T=float32, strides=[1, 1, 1, 1], padding="SAME"}
    rows_shape = Const() {dtype=int32, value=int32(2)[64, 5]}
    rows = Reshape(features, rows_shape) {T=float32, Tshape=int32}
    first = Const() {dtype=int32, value=int32(2)[0, 0]}
    fourth = Const() {dtype=int32, value=int32(2)[0, 4]}
    box_size = Const() {dtype=int32, value=int32(2)[64, 4]}
    one_size = Const() {dtype=int32, value=int32(2)[64, 1]}
    boxes = Slice(rows, first, box_size) {T=float32, Index=int32}
    score_rows = Slice(rows, fourth, one_size) {T=float32, Index=int32}
    flat = Const() {dtype=int32, value=int32(1)[64]}
    scores = Reshape(score_rows, flat) {T=float32, Tshape=int32}
    most = Const() {dtype=int32, value=int32()[7]}
    overlap = Const() {dtype=float32, value=float32()[0.5]}
    least = Const() {dtype=float32, value=float32()[0.25]}
    kept = NonMaxSuppressionV3(boxes, scores, most, overlap, least) {T=float32, T_threshold=float32}
    axis = Const() {dtype=int32, value=int32()[0]}
    best = GatherV2(boxes, kept, axis) {Tparams=float32, Tindices=int32, Taxis=int32, batch_dims=0}
    y = Tanh(best) {T=float32}
"""
AGAIN = """
    weights = Const() {dtype=float32, value=float32(4, 2)[1, 2, 3, 4, 5, 6, 7, 8]}
    z = MatMul(y, weights) {T=float32, transpose_a=false, transpose_b=false}
"""


def stages_of(text: str, fetch: str) -> list[tuple[str, set[str]]]:
    """Where each stage runs, and the ops in it."""
    session = session_of(text, engine=engine_on_cpu())
    stages = cut_into_stages(session.program([fetch], ["image:0"]), session.engine)
    names = {None: "host", session.engine: "gpu"}
    return [(names.get(stage.engine, "cpu"), {step.op for step in stage.steps}) for stage in stages]


def test_suppression_and_what_follows_it_run_in_the_engine_on_the_cpu():
    (before, backbone), (after, tail) = stages_of(DETECTOR, "y:0")
    assert (before, after) == ("gpu", "cpu")
    assert "Conv2D" in backbone
    assert {"NonMaxSuppressionV3", "GatherV2", "Tanh"} <= tail


def test_products_after_it_run_on_the_gpu_again():
    stages = stages_of(DETECTOR + AGAIN, "z:0")
    assert [where for where, _ in stages] == ["gpu", "cpu", "gpu"]
    assert "NonMaxSuppressionV3" in stages[1][1]
    assert "MatMul" in stages[2][1]


@pytest.mark.parametrize("fetch", ["y:0", "z:0"])
def test_answers_are_those_of_the_cpu(fetch):
    image = np.random.default_rng(3).normal(size=(1, 8, 8, 1)).astype(np.float32)
    (expected,) = session_of(DETECTOR + AGAIN).run([fetch], {"image:0": image})
    (actual,) = session_of(DETECTOR + AGAIN, engine=engine_on_cpu()).run([fetch], {"image:0": image})
    assert len(expected)
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


RESIZED = """
    image = Placeholder() {dtype=float32, shape=(1, ?, ?, 3)}
    size = Placeholder() {dtype=int32, shape=(2)}
    small = ResizeBilinear(image, size) {T=float32, align_corners=true, half_pixel_centers=false}
    filter = Const() {dtype=float32, value=float32(1, 1, 3, 1)[1, -1, 2]}
    y = Conv2D(small, filter) {T=float32, strides=[1, 1, 1, 1], padding="SAME"}
"""


def test_images_of_any_size_are_resized_on_the_gpu():
    session = session_of(RESIZED, engine=engine_on_cpu())
    stages = cut_into_stages(session.program(["y:0"], ["image:0", "size:0"]), session.engine)
    assert [stage.engine for stage in stages] == [session.engine]


QUANTIZED = """
    image = Placeholder() {dtype=float32, shape=(1, 8, 8, 1)}
    doubled = AddV2(image, image) {T=float32}
    rows_shape = Const() {dtype=int32, value=int32(2)[16, 4]}
    boxes = Reshape(doubled, rows_shape) {T=float32, Tshape=int32}
    axis = Const() {dtype=int32, value=int32()[1]}
    scores = Max(boxes, axis) {T=float32, Tidx=int32, keep_dims=false}
    most = Const() {dtype=int32, value=int32()[7]}
    overlap = Const() {dtype=float32, value=float32()[0.5]}
    least = Const() {dtype=float32, value=float32()[0.25]}
    kept = NonMaxSuppressionV3(boxes, scores, most, overlap, least) {T=float32, T_threshold=float32}
"""


def test_without_convolutions_for_the_gpu_everything_runs_on_the_cpu():
    ((where, ops),) = stages_of(QUANTIZED, "kept:0")
    assert where == "cpu"
    assert {"AddV2", "Max", "NonMaxSuppressionV3"} <= ops


CROPPED = (
    QUANTIZED
    + """
    first = Const() {dtype=int32, value=int32()[0]}
    best = GatherV2(boxes, kept, first) {Tparams=float32, Tindices=int32, Taxis=int32, batch_dims=0}
    weights = Const() {dtype=float32, value=float32(4, 2)[1, 2, 3, 4, 5, 6, 7, 8]}
    y = MatMul(best, weights) {T=float32, transpose_a=false, transpose_b=false}
"""
)


def test_what_the_cpu_needs_of_the_inputs_is_computed_there():
    stages = stages_of(CROPPED, "y:0")
    assert [where for where, _ in stages] == ["cpu", "gpu"]
    assert {"AddV2", "Max", "NonMaxSuppressionV3"} <= stages[0][1]
    assert "MatMul" in stages[1][1]


POOLED = """
    texts = Placeholder() {dtype=string, shape=(?,)}
    delimiter = Const() {dtype=string, value=string()[" "]}
    split = StringSplit(texts, delimiter) {skip_empty=true}
    first = Const() {dtype=int32, value=int32(2)[0, 0]}
    column = Const() {dtype=int32, value=int32(2)[-1, 1]}
    rows = Slice(split, first, column) {T=int64, Index=int32}
    axes = Const() {dtype=int32, value=int32(1)[-1]}
    ids = Reshape(rows, axes) {T=int64, Tshape=int32}
    data = Placeholder() {dtype=float32, shape=(?, 2)}
    doubled = Mul(data, data) {T=float32}
    count = Const() {dtype=int32, value=int32()[3]}
    sum = UnsortedSegmentSum(doubled, ids, count) {T=float32, Tindices=int64, Tnumsegments=int32}
    y = Tanh(sum) {T=float32}
"""


def test_sums_over_the_tokens_of_texts_run_on_the_host():
    session = session_of(POOLED)
    stages = cut_into_stages(session.program(["y:0"], ["texts:0", "data:0"]), session.engine)
    (where,) = (stage.engine for stage in stages if "UnsortedSegmentSum" in {s.op for s in stage.steps})
    assert where is None
    feeds = {"texts:0": np.array([b"a b", b"", b"c"], object), "data:0": np.float32([[1, 0], [2, 0], [3, 1]])}
    np.testing.assert_allclose(session.run(["y:0"], feeds)[0], np.tanh([[5, 0], [0, 0], [9, 1]]), rtol=1e-6)


def test_sums_over_segments_of_an_input_run_in_the_engine():
    fed = POOLED.replace(
        "ids = Reshape(rows, axes) {T=int64, Tshape=int32}", "ids = Placeholder() {dtype=int64, shape=(?,)}"
    )
    session = session_of(fed)
    stages = cut_into_stages(session.program(["y:0"], ["ids:0", "data:0"]), session.engine)
    (where,) = (stage.engine for stage in stages if "UnsortedSegmentSum" in {s.op for s in stage.steps})
    assert where is session.engine
