import itertools

import numpy as np
import pytest
from tests.runtime.cases import (
    assert_same,
    bf16,
    case,
    check,
    checks,
    f32,
    graph_case,
    i32,
    numbers,
    recorded,
    u8,
)
from tests.runtime.programs import islands_of

import tfport
from tfport.graph.dtypes import DType

QUINT8 = DType.parse("quint8")
SIZES = [
    ((4, 5), (8, 10)),
    ((5, 4), (3, 7)),
    ((7, 6), (2, 3)),
    ((1, 3), (4, 1)),
    ((3, 3), (3, 3)),
    ((9, 2), (31, 5)),
]
PLACED = [(False, False), (True, False), (False, True)]
TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.float16, np.float64]


def resizes(op, **attrs):
    return [
        case(
            op, numbers(2, *in_size, 2, low=-9, high=9), i32(*out_size), align_corners=a, half_pixel_centers=h
        )
        for (in_size, out_size), (a, h) in itertools.product(SIZES, PLACED)
    ]


def types(op, **attrs):
    made = [case(op, numbers(1, 3, 4, 1, kind=t, low=0, high=99), i32(5, 3), **attrs) for t in TYPES]
    return [*made, case(op, bf16([[[1.5], [2]], [[3], [4.25]]]), i32(3, 4), **attrs)]


WEIGHTS = 1e-5  # weights are float32 and multiplied in another order, also for gradients of float64
INFINITE = f32(*[[[1], [np.inf], [3]], [[4], [5], [np.nan]]])

CASES = [
    *resizes("ResizeBilinear"),
    *resizes("ResizeNearestNeighbor"),
    *resizes("ResizeBicubic"),
    *(
        case("ResizeArea", numbers(2, *in_size, 2, low=-9, high=9), i32(*out_size), align_corners=a)
        for (in_size, out_size), a in itertools.product(SIZES, (False, True))
    ),
    *(
        c
        for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")
        for c in types(op)
    ),
    *(
        case(op, numbers(1, 120, 2, 1), i32(n, 3), align_corners=a, half_pixel_centers=h)
        for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic")
        for n in (37, 119, 121, 299)
        for a, h in PLACED
    ),
    case("ResizeArea", numbers(1, 120, 2, 1), i32(37, 3)),
    case("ResizeArea", numbers(1, 200, 90, 1, low=0, high=255), i32(3, 2), ulps=0),
    case("ResizeArea", numbers(1, 37, 2, 1), i32(120, 3)),
    *(
        case(op, images, i32(*size), fails=True, align_corners=False)
        for op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea")
        for images, size in [
            (numbers(1, 2, 2, 1), (0, 3)),
            (numbers(1, 2, 2, 1), (3, -1)),
            (numbers(1, 0, 2, 1), (3, 3)),
            (numbers(1, 2, 2, 1), (3, 3, 3)),
            (numbers(2, 2, 1), (3, 3)),
        ]
    ),
    case("ResizeBilinear", numbers(0, 2, 2, 1), i32(3, 3)),
    case("ResizeNearestNeighbor", numbers(0, 2, 2, 1), i32(3, 3)),
    case("ResizeBilinear", INFINITE[None], i32(2, 3)),
    case("ResizeNearestNeighbor", INFINITE[None], i32(3, 5)),
    case(
        "ResizeBilinear",
        numbers(1, 2, 2, 1),
        i32(3, 3),
        align_corners=True,
        half_pixel_centers=True,
        fails=True,
    ),
    *(
        case(
            "ResizeNearestNeighbor",
            u8(*range(12)).reshape(1, 4, 3, 1),
            i32(7, 2),
            align_corners=a,
            half_pixel_centers=h,
        )
        for a, h in PLACED
    ),
    *(
        case(
            "ResizeBilinearGrad",
            numbers(2, *out_size, 2),
            numbers(2, *in_size, 2, kind=t),
            align_corners=a,
            half_pixel_centers=h,
            rtol=WEIGHTS,
        )
        for (in_size, out_size), (a, h), t in (
            (s, p, np.float64 if p[1] else np.float32) for s, p in itertools.product(SIZES, PLACED)
        )
    ),
    case("ResizeBilinearGrad", numbers(1, 3, 3, 1), numbers(1, 2, 2, 1, kind=np.float16)),
    *(
        case(
            "ResizeBicubicGrad",
            numbers(2, *out_size, 2),
            numbers(2, *in_size, 2, kind=t),
            align_corners=a,
            half_pixel_centers=h,
            rtol=WEIGHTS,
        )
        for (in_size, out_size), (a, h), t in (
            (s, p, np.float64 if p[1] else np.float32) for s, p in itertools.product(SIZES, PLACED)
        )
    ),
    *(
        case(
            "ResizeNearestNeighborGrad",
            numbers(2, *out_size, 2, kind=t, low=0, high=20),
            i32(*in_size),
            align_corners=a,
            half_pixel_centers=h,
        )
        for (in_size, out_size), (a, h), t in (
            (s, p, np.int32 if p[1] else np.float32) for s, p in itertools.product(SIZES, PLACED)
        )
    ),
]

QUANTIZED = [
    case(
        "QuantizedResizeBilinear",
        numbers(2, *in_size, channels, kind=kind, low=low, high=high),
        i32(*out_size),
        f32(-1)[0],
        f32(1)[0],
        align_corners=a,
        half_pixel_centers=h,
        types=[dtype],
    )
    for kind, low, high, dtype in (
        (np.uint8, 0, 255, QUINT8),
        (np.float32, -3, 3, None),
    )
    for in_size, out_size in SIZES
    for channels in (1, 2, 3)
    for a, h in PLACED
    if channels == 1 or in_size == (5, 4)
]
CASES += QUANTIZED
PHOTOGRAPH = """
    images = Placeholder() {dtype=uint8, shape=(?, ?, ?, 3)}
    size = Placeholder() {dtype=int32, shape=(2)}
    y = ResizeBilinear(images, size) {T=uint8, align_corners=false, half_pixel_centers=true}
"""
PIXELS = numbers(1, 31, 17, 3, kind=np.uint8, low=0, high=255)
CASES += [
    graph_case(PHOTOGRAPH, fetches="y:0", images=PIXELS, size=i32(*size), name="photograph")
    for size in ((7, 5), (40, 20), (31, 17))
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_resizes(c, ways):
    check("resize", c, ways)


LOWERED = [
    c for c in CASES if c.op in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic") and not c.fails
]


@pytest.mark.parametrize("c", LOWERED, ids=str)
def test_resizes_between_known_sizes(c):
    """As in most models: positions and weights are constants, or the engine's own op is used."""
    graph_def, feeds = c.model("engine")
    for size, dim in zip(c.inputs[0].shape, graph_def.node[0].attr["shape"].shape.dim, strict=True):
        dim.size = size
    session = tfport.Session(tfport.load(graph_def.SerializeToString()), engine="onnxruntime")
    for ours, theirs in zip(session.run(["node:0"], feeds), recorded("resize", c), strict=True):
        assert_same(ours, theirs, c)


ENLARGED = """
    images = Placeholder() {{dtype=float, shape=(?, 4, 5, 3)}}
    size = Const() {{dtype=int32, value=int32(2,)[{height}, {width}]}}
    y = {op}(images, size) {{T=float, align_corners={align}, half_pixel_centers={half}}}
"""


@pytest.mark.parametrize(
    ("op", "align", "half", "size", "ops"),
    [
        ("ResizeNearestNeighbor", "false", "false", (8, 15), ["Resize"]),
        ("ResizeNearestNeighbor", "false", "true", (8, 15), ["Resize"]),
        ("ResizeBilinear", "false", "true", (8, 10), ["Resize"]),
        ("ResizeNearestNeighbor", "true", "false", (8, 15), ["Gather", "Gather"]),
        ("ResizeNearestNeighbor", "false", "false", (8, 12), ["Gather", "Gather"]),
        ("ResizeNearestNeighbor", "false", "false", (4, 5), []),
    ],
)
def test_an_image_is_enlarged_by_constant_factors(op, align, half, size, ops):
    """Also if the number of images is unknown, so that ONNX Runtime keeps it in blocks of channels."""
    graph = ENLARGED.format(op=op, align=align, half=half, height=size[0], width=size[1])
    (island,) = islands_of(graph, ["y:0"], ["images:0"])
    moving = ("Identity", "Transpose")
    assert [node.op_type for node in island.graph.node if node.op_type not in moving] == ops


def test_a_photograph_is_gathered_before_it_is_converted():
    """In a quarter of the memory, and weights have the channels, as engines broadcast short rows slowly."""
    (island,) = islands_of(PHOTOGRAPH, ["y:0"], ["images:0", "size:0"])
    nodes = _branches_of(_resized(island))["then_branch"]
    assert not [n for n in nodes if n.op_type == "Cast" and n.input[0] == island.graph.input[0].name]
    (repeated,) = [n.output[0] for n in nodes if n.op_type == "Expand"]
    assert sum(repeated in n.input for n in nodes if n.op_type == "Mul") == 2


def test_a_photograph_that_grows_is_interpolated_between_columns_once():
    """Each of its rows is in several rows of the result, which are taken after that."""
    (island,) = islands_of(PHOTOGRAPH, ["y:0"], ["images:0", "size:0"])
    nodes = _branches_of(_resized(island))["else_branch"]
    assert sum(n.op_type == "Mul" for n in nodes) == 2  # one between columns, one between rows


def test_a_photograph_of_the_right_size_is_only_converted():
    (island,) = islands_of(PHOTOGRAPH, ["y:0"], ["images:0", "size:0"])
    assert [node.op_type for node in _branches_of(island.graph.node)["then_branch"]] == ["Cast"]


def _resized(island):
    """The nodes for a result of a different size."""
    return _branches_of(island.graph.node)["else_branch"]


def _branches_of(nodes):
    """The nodes of the branches of the only If."""
    (choice,) = (node for node in nodes if node.op_type == "If")
    return {attribute.name: list(attribute.g.node) for attribute in choice.attribute}
