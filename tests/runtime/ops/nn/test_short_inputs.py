"""Ops that change sizes, on inputs that are too short for their windows, or empty.

The answers are those of TensorFlow without oneDNN, whose convolutions give an empty result the shape of the
input, against TensorFlow's own shape inference.
"""

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, graph_case, i32, numbers, scalar, sized

from tfport.runtime.engines.pool_sizes import PoolWindow, check_pool_sizes


def _windows(padding):
    """Convolutions and poolings over small images; TensorFlow refuses a window that is far too large."""
    for height, width in ((0, 5), (2, 5), (5, 0), (2, 2)):
        image = numbers(1, height, width, 3)
        refused = padding == "VALID" and 0 in (height, width)
        for op, weights in (
            ("Conv2D", numbers(3, 3, 3, 4)),
            ("DepthwiseConv2dNative", numbers(3, 3, 3, 2)),
        ):
            yield case(op, image, weights, strides=[1, 1, 1, 1], padding=padding, says=refused)
        yield case("Conv2D", image, numbers(3, 3, 3, 4), strides=[1, 2, 2, 1], padding=padding)
        for op in ("MaxPool", "AvgPool"):
            yield case(op, image, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding=padding)
    for depth in (0, 2):
        volume = numbers(1, depth, 4, 4, 2)
        for op in ("MaxPool3D", "AvgPool3D"):
            yield case(op, volume, ksize=[1, 3, 3, 3, 1], strides=[1, 2, 2, 2, 1], padding=padding)
    yield case("Conv2D", numbers(0, 5, 5, 3), numbers(3, 3, 3, 4), strides=[1, 1, 1, 1], padding=padding)


NO_PADDING = np.zeros((2, 2), np.int32)
AROUND = i32([0, 0], [1, 1], [0, 0], [0, 0])
SHAPES = ((1, 0, 4, 3), (0, 4, 4, 3), (1, 4, 4, 0))

POOLED = """
    x = Placeholder() {dtype=float32, shape=(?, ?, 3)}
    axis = Const() {dtype=int32, value=int32()[1]}
    image = ExpandDims(x, axis) {T=float32, Tdim=int32}
    sizes = Const() {dtype=int32, value=int32(4,)[1, 3, 3, 8]}
    half = Const() {dtype=float32, value=float32()[0.5]}
    weights = Fill(sizes, half) {T=float32, index_type=int32}
    conv = Conv2D(image, weights) {T=float32, strides=[1, 1, 1, 1], padding="VALID"}
    relu = Relu(conv) {T=float32}
    pool = MaxPool(relu) {T=float32, ksize=[1, 1, 2, 1], strides=[1, 1, 2, 1], padding="VALID"}
    y = Neg(pool) {T=float32}
"""

CASES = [
    *_windows("VALID"),
    *_windows("SAME"),
    case(
        "Conv2D",
        numbers(1, 2, 2, 3),
        numbers(3, 3, 3, 4),
        strides=[1, 1, 1, 1],
        padding="VALID",
        dilations=[1, 2, 2, 1],
        says=True,
    ),
    case(
        "Conv2D",
        numbers(1, 0, 5, 3),
        numbers(5, 3, 3, 4),
        strides=[1, 1, 1, 1],
        padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 1, 0, 0, 0, 0],
        says=True,
    ),
    *(
        graph_case(POOLED, fetches="y:0", name="pooled", x=numbers(1, length, 3), says=length < 2)
        for length in (0, 2, 3, 4, 5, 9)
    ),
    *(sized("SpaceToBatchND", numbers(*shape), i32(2, 2), NO_PADDING) for shape in SHAPES),
    *(sized("BatchToSpaceND", numbers(4 * n, *rest), i32(2, 2), NO_PADDING) for n, *rest in SHAPES),
    *(case("SpaceToDepth", numbers(*shape), block_size=2) for shape in SHAPES),
    *(case(op, numbers(*shape), i32(1, 2)) for op in ("Mean", "Max", "Sum", "Prod") for shape in SHAPES),
    *(case("BiasAdd", numbers(*shape), numbers(shape[-1])) for shape in SHAPES),
    *(case("PadV2", numbers(*shape), AROUND, np.float32(7)) for shape in SHAPES),
    *(case("MirrorPad", numbers(*shape), AROUND, mode="REFLECT", says=True) for shape in SHAPES),
    case("MirrorPad", numbers(1, 0, 4, 3), AROUND, mode="SYMMETRIC", says=True),
    case("MirrorPad", numbers(1, 1, 4, 3), AROUND, mode="SYMMETRIC"),
    case("Slice", numbers(2, 3), i32(0, 0), i32(3, 3), says=True),
    case("Slice", numbers(2, 3), i32(2, 0), i32(0, 3)),
    *(
        case("StridedSlice", numbers(rows, 3), i32(first), i32(last), i32(step))
        for rows in (0, 4)
        for first, last in ((5, 3), (0, 3), (3, -1))
        for step in (1, -1)
    ),
    case("RFFT", numbers(2, 0), i32(8)),
    case("MatMul", numbers(2, 0), numbers(0, 3)),
    case("ConcatV2", [numbers(0, 3), numbers(2, 3)], scalar(0)),
    case("Split", scalar(0), numbers(0, 3), num_split=3),
    case("OneHot", i32(1, 2), scalar(0), np.float32(1), np.float32(0)),
    case("UnsortedSegmentSum", numbers(0, 3), i32(), scalar(4)),
    case("CropAndResize", numbers(1, 4, 4, 3), numbers(0, 4), i32(), i32(2, 2)),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_short_inputs(c, ways):
    check("short_inputs", c, ways)


def test_a_window_fits_an_image_of_its_size():
    check_pool_sizes([PoolWindow("y", (3, 1))], [np.array([1, 8, 3, 1])])
    with pytest.raises(Exception, match=r"does not fit into an image of shape \[1, 8, 2, 1\]"):
        check_pool_sizes([PoolWindow("y", (3, 1))], [np.array([1, 8, 2, 1])])
