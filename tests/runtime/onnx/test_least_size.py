"""How small images may be for the windows of an island."""

import itertools

import numpy as np
import pytest
from tests.runtime.programs import WatchedEngine, session_of

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.onnx.least_size import ANY, LARGE, NOT_EMPTY, least_size
from tfport.runtime.operand import Operand
from tfport.runtime.plan import Plan
from tfport.runtime.program import OnnxNode

BLOCKS = 16
"""Channels that fill a block of ONNX Runtime's layout for convolutions."""
INPUT = "x = Placeholder() {dtype=float32, shape=(%s)}"
KERNEL = "%s = Const() {dtype=float32, value=float32(%s)[%s]}"
CONV = 'Conv2D(%s, w) {T=float32, strides=[1, %d, %d, 1], padding="%s"}'
POOL = '{T=float32, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="%s"}'
IMAGES = "?, ?, ?, 16"


def kernel(name, *shape):
    values = np.random.default_rng(0).integers(-3, 4, int(np.prod(shape)))
    return KERNEL % (name, ", ".join(map(str, shape)), ", ".join(map(str, values)))


def net(*lines, sizes=IMAGES):
    return "\n".join([INPUT % sizes, kernel("w", 3, 3, BLOCKS, BLOCKS), *lines])


SAME = net(
    f"a = {CONV % ('x', 2, 2, 'SAME')}",
    f"p = MaxPool(a) {POOL % 'SAME'}",
    "r = Relu(p) {T=float32}",
    f"b = {CONV % ('r', 1, 1, 'SAME')}",
    f"q = AvgPool(b) {POOL % 'SAME'}",
    "s = AddV2(q, q) {T=float32}",
    f"y = {CONV % ('s', 1, 1, 'SAME')}",
)
VOLUMES = "\n".join(
    [
        INPUT % "?, ?, ?, ?, 4",
        kernel("w", 3, 3, 3, 4, 8),
        'c = Conv3D(x, w) {T=float32, strides=[1, 1, 1, 1, 1], padding="SAME"}',
        "y = Relu(c) {T=float32}",
    ]
)
INNER = """
    b = Const() {dtype=int32, value=int32(4)[0, 1, 1, 0]}
    e = Const() {dtype=int32, value=int32(4)[0, 0, 0, 0]}
    d = Const() {dtype=int32, value=int32(4)[1, 1, 1, 1]}
    h = StridedSlice(x, b, e, d) {T=float32, Index=int32, begin_mask=9, end_mask=15}
"""


@pytest.mark.parametrize(
    ("text", "least"),
    [
        pytest.param(SAME, NOT_EMPTY, id="same"),
        pytest.param(VOLUMES, NOT_EMPTY, id="volumes"),
        pytest.param(net(f"y = {CONV % ('x', 1, 1, 'VALID')}"), LARGE, id="valid"),
        pytest.param(net(f"y = MaxPool(x) {POOL % 'VALID'}"), LARGE, id="valid pooling"),
        pytest.param(net(INNER, f"y = {CONV % ('h', 1, 1, 'SAME')}"), LARGE, id="slice"),
        pytest.param(net(f"y = {CONV % ('x', 1, 1, 'VALID')}", sizes="?, 9, 9, 16"), ANY, id="known"),
    ],
)
def test_images_run_out_only_where_a_node_makes_them_smaller(text, least):
    session = session_of(text)
    engine = WatchedEngine(session.engine)
    Plan(session.program(["y:0"], ["x:0"]), engine)
    assert [hints.least_size for hints in engine.hints] == [least]


def floats(*values):
    return Operand(FLOAT32, value=np.array(values, np.float32))


def integers(*values):
    return Operand(INT64, value=np.array(values, np.int64))


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "least"),
    [
        ("Pad", [integers(0, 0, 1, 1, 0, 0, 1, 1)], {}, NOT_EMPTY),
        ("Pad", [integers(0, 0, -1, 0, 0, 0, 0, 0)], {}, LARGE),
        ("Pad", [Operand(INT64, (8,))], {}, LARGE),
        ("Resize", [None, floats(1, 1, 2, 2)], {}, NOT_EMPTY),
        ("Resize", [None, floats(1, 1, 0.5, 0.5)], {}, LARGE),
        ("Resize", [None, None, Operand(INT64, (4,))], {}, LARGE),
        ("Concat", [Operand(FLOAT32, value=np.zeros((1, 1, 0, 4), np.float32))], {"axis": 2}, LARGE),
        ("Reshape", [Operand(INT64, (4,))], {}, NOT_EMPTY),
        ("ConvTranspose", [floats(1)], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, NOT_EMPTY),
        ("ConvTranspose", [floats(1)], {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]}, LARGE),
        ("Slice", [integers(1), integers(9)], {}, LARGE),
    ],
)
def test_nodes_before_a_window_must_keep_elements(op, inputs, attrs, least):
    image, middle, pooled = (Operand(FLOAT32, (None, 4, None, None)) for _ in range(3))
    same = {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER"}
    before, pool = (
        OnnxNode(op, (image, *inputs), (middle,), attrs),
        OnnxNode("MaxPool", (middle,), (pooled,), same),
    )
    assert least_size([before, pool]) == least


@pytest.mark.parametrize(("text", "shape"), [(SAME, (2, 16)), (VOLUMES, (3, 4))])
def test_images_of_any_size_have_the_answers_of_the_host(text, shape):
    axes, channels = shape
    session, host = session_of(text), session_of(text, engine="none")
    for sizes in itertools.product((1, 2, 3, 8), repeat=axes):
        x = np.random.default_rng(0).random((2, *sizes, channels), np.float32)
        answer, expected = (s.run("y:0", {"x:0": x}) for s in (session, host))
        np.testing.assert_allclose(answer, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("shape", [(0, 5, 5, 16), (2, 0, 5, 16), (2, 5, 0, 16), (0, 0, 0, 16)])
def test_empty_images_have_empty_answers(shape):
    session, host = session_of(SAME), session_of(SAME, engine="none")
    for s in (session, host):
        s.run("y:0", {"x:0": np.ones((1, 5, 5, 16), np.float32)})
    x = np.zeros(shape, np.float32)
    assert session.run("y:0", {"x:0": x}).shape == host.run("y:0", {"x:0": x}).shape
