import itertools

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f32, graph_case, i32, numbers, run, scalar
from tests.runtime.programs import islands_of

from tfport.graph.dtypes import FLOAT32, DType

FLOAT64 = DType.parse("float64")

IMAGE = numbers(2, 7, 5, 2, low=0, high=9)
BOXES = f32(
    [0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [0.9, 0.8, 0.1, 0.2], [-0.5, -0.2, 1.2, 1.5], [0.3, 0.3, 0.3, 0.3]
)
WHICH = i32(0, 1, 1, 0, 1)
RANDOM_BOXES, FIRST = numbers(40, 4, low=-0.2, high=1.2), np.zeros(40, np.int32)
ODD_IMAGE = np.where(numbers(1, 6, 5, 3) > 0.7, np.float32(np.inf), numbers(1, 6, 5, 3))
WIDE_BOXES = f32([0, 0, 1e30, 1], [-1e30, 0.2, 0.4, 1e-40])
METHODS = ("bilinear", "nearest")
TYPES = [np.uint8, np.uint16, np.int8, np.int16, np.int32, np.int64, np.float16, np.float64]


def factor(value):
    return scalar(value, np.float32)


CROPS = [
    *(
        case("CropAndResize", IMAGE, BOXES, WHICH, i32(*size), method=method, extrapolation_value=value)
        for size in ((3, 4), (1, 1), (9, 1), (1, 6), (7, 5))
        for method, value in zip(METHODS, (0.0, -3.5), strict=True)
    ),
    *(
        case("CropAndResize", IMAGE.astype(t), BOXES, WHICH, i32(3, 3), method=m)
        for t in TYPES
        for m in METHODS
    ),
    *(
        case(
            "CropAndResize",
            numbers(1, 37, 41, 3),
            RANDOM_BOXES,
            np.zeros(40, np.int32),
            i32(14, 9),
            method=m,
            ulps=0,
        )
        for m in METHODS
    ),
    *(case("CropAndResize", ODD_IMAGE, WIDE_BOXES, i32(0, 0), i32(4, 3), method=m) for m in METHODS),
    case("CropAndResize", IMAGE, f32([0, np.nan, 1, 1]), i32(0), i32(3, 3), fails=True),
    case("CropAndResize", IMAGE, f32([0, 0, -np.inf, 1]), i32(0), i32(3, 3), fails=True),
    case("CropAndResize", IMAGE[..., :0], BOXES, WHICH, i32(3, 3)),
    case("CropAndResize", IMAGE, BOXES, WHICH[:1], i32(3, 3), fails=True),
    case("CropAndResize", IMAGE, BOXES[:0], WHICH[:0], i32(3, 3)),
    case("CropAndResize", IMAGE, BOXES, i32(0, 1, 2, 0, 0), i32(3, 3), fails=True),
    case("CropAndResize", IMAGE, BOXES, i32(0, 1, -1, 0, 0), i32(3, 3), fails=True),
    case("CropAndResize", IMAGE, BOXES, WHICH[:2], i32(3, 3), fails=True),
    case("CropAndResize", IMAGE, BOXES, WHICH, i32(3, 0), fails=True),
    case("CropAndResize", IMAGE[:, :0], BOXES, WHICH, i32(3, 3), fails=True),
    case("CropAndResize", IMAGE, BOXES[:, :3], WHICH, i32(3, 3), fails=True),
    *(
        case(
            "CropAndResizeGradImage",
            numbers(5, *size, 2),
            BOXES,
            WHICH,
            i32(2, 7, 5, 2),
            T=t,
            method=m,
            rtol=1e-5,
        )
        for size in ((3, 4), (1, 1))
        for m in METHODS
        for t in (FLOAT32, FLOAT64)
    ),  # weights are float32 also for gradients of float64
    *(
        case("CropAndResizeGradBoxes", numbers(5, *size, 2), IMAGE, BOXES, WHICH)
        for size in ((3, 4), (1, 1), (1, 3))
    ),
]


def patches(op, x, sizes, strides, padding, **attrs):
    return case(op, x, ksizes=[1, *sizes, 1], strides=[1, *strides, 1], padding=padding, **attrs)


def cut(size, patch, padding):
    """Patches that do not overlap, of images of known size."""
    x, sizes = numbers(2, *size, 3), [1, *patch, 1]
    return graph_case(
        f"""x = Placeholder() {{dtype=float32, shape=(?,{size[0]},{size[1]},3)}}
        y = ExtractImagePatches(x) {{T=float32, ksizes={sizes}, strides={sizes}, rates=[1,1,1,1],
        padding="{padding}"}}""".replace(",\n        padding", ", padding"),
        fetches="y:0",
        x=x,
        ways=("engine", "fed"),
    )


PATCHES = [
    cut((6, 8), (3, 2), "VALID"),
    cut((6, 8), (3, 2), "SAME"),
    cut((7, 9), (3, 4), "VALID"),
    cut((7, 9), (3, 4), "SAME"),
    *(
        patches("ExtractImagePatches", IMAGE, sizes, strides, padding, rates=[1, *rates, 1])
        for sizes, strides, rates in (
            ((2, 3), (1, 1), (1, 1)),
            ((3, 1), (2, 3), (1, 1)),
            ((2, 2), (3, 1), (2, 3)),
        )
        for padding in ("SAME", "VALID")
    ),
    *(
        patches("ExtractImagePatches", IMAGE.astype(t), (2, 2), (2, 2), "SAME", rates=[1, 1, 1, 1])
        for t in (np.uint8, np.int64, np.float16, np.complex64)
    ),
    patches("ExtractImagePatches", IMAGE[:0], (2, 2), (2, 2), "SAME", rates=[1, 1, 1, 1]),
    patches("ExtractImagePatches", IMAGE, (9, 2), (1, 1), "VALID", rates=[1, 1, 1, 1], fails=True),
    *(  # windows larger than the image
        patches("ExtractImagePatches", numbers(1, 2, 3, 1), sizes, strides, padding, rates=[1, *rates, 1])
        for sizes, strides, rates in (
            ((3, 3), (1, 1), (1, 1)),
            ((3, 4), (3, 2), (1, 1)),
            ((2, 2), (4, 3), (3, 4)),
            ((5, 5), (4, 3), (1, 1)),
        )
        for padding in ("SAME", "VALID")
    ),
    patches("ExtractImagePatches", IMAGE[:, :0], (2, 2), (1, 2), "SAME", rates=[1, 1, 1, 1]),
    patches("ExtractVolumePatches", numbers(1, 2, 4, 4, 1), (3, 3, 3), (1, 1, 1), "VALID"),
    *(
        patches("ExtractVolumePatches", numbers(1, 4, 5, 3, 2), sizes, strides, padding)
        for sizes, strides in (((2, 3, 1), (1, 1, 1)), ((3, 1, 2), (2, 3, 1)))
        for padding in ("SAME", "VALID")
    ),
    *(
        case(op, IMAGE, i32(3, 4), f32(*offsets), centered=c, normalized=n, uniform_noise=False, noise="zero")
        for op in ("ExtractGlimpse", "ExtractGlimpseV2")
        for offsets in ([[0.1, 0.2], [-0.3, 0.4]], [[1, -1], [0.9, 2]], [[2.5, 1.5], [-2, 6]])
        for c in (False, True)
        for n in (False, True)
    ),
    case("ExtractGlimpse", IMAGE, i32(3, 2), f32([0, 0], [0.1, 0.1])),
    case("ExtractGlimpse", IMAGE, i32(3, 0), f32([0, 0], [0.1, 0.1])),
    case("ExtractGlimpse", IMAGE, i32(3, 2), f32([0, 0]), fails=True),
]

COLORS = np.concatenate(
    [
        numbers(1, 6, 5, 3, low=0, high=1),
        f32([[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.2], [0.1, 0.9, 0.9], [0.3, 0, 0.3]])[None],
    ],
    axis=1,
)
COLORED = [
    *(
        case(op, x.astype(t))
        for op in ("RGBToHSV", "HSVToRGB")
        for x, t in itertools.product((COLORS, COLORS * 2 - 0.7), (np.float32, np.float64))
    ),
    case("RGBToHSV", COLORS.astype(np.float16)),
    case("HSVToRGB", COLORS.astype(np.float16)),
    case("RGBToHSV", f32(0.1, 0.2, 0.3)),
    case("RGBToHSV", f32(0.1, 0.2), fails=True),
    case("RGBToHSV", COLORS[:0]),
    *(case("AdjustHue", x, factor(d)) for x in (COLORS, COLORS * 2 - 0.7) for d in (0, 0.3, -0.4, 1.7)),
    *(case("AdjustSaturation", x, factor(d)) for x in (COLORS, COLORS * 2 - 0.7) for d in (0, 0.3, 2.5, -1)),
    case("AdjustHue", COLORS[..., :2], factor(1), fails=True),
    case("AdjustHue", COLORS, f32(1), fails=True),
    *(
        case("AdjustContrastv2", x, factor(d), atol=2e-6)  # values up to 13 cancel
        for x in (IMAGE, COLORS[0], COLORS[:0])
        for d in (0, 0.5, -2)
    ),
    case("AdjustContrastv2", numbers(2, 3), factor(1), fails=True),
]

PROJECTIONS = f32(
    [1, 0, 0, 0, 1, 0, 0, 0],
    [0.9, 0.2, -1.3, -0.1, 1.1, 0.6, 0.01, 0.02],
)
TURNED = f32([0.5, -0.8, 3, 0.8, 0.5, -4, 0, 0])
TRANSFORMED = [
    *(
        case(
            "ImageProjectiveTransformV3", IMAGE, t, i32(*size), factor(2.5), interpolation=how, fill_mode=fill
        )
        for t in (PROJECTIONS, TURNED)
        for size in ((7, 5), (9, 4))
        for how in ("NEAREST", "BILINEAR")
        for fill in ("CONSTANT", "REFLECT", "WRAP", "NEAREST")
    ),
    *(
        case("ImageProjectiveTransformV2", IMAGE.astype(t), PROJECTIONS, i32(5, 5), interpolation=how)
        for t in (np.uint8, np.int32, np.int64, np.float16, np.float64)
        for how in ("NEAREST", "BILINEAR")
    ),
    case(
        "ImageProjectiveTransformV2",
        IMAGE,
        PROJECTIONS[:, :7],
        i32(5, 5),
        interpolation="NEAREST",
        fails=True,
    ),
    case("ImageProjectiveTransformV2", IMAGE, PROJECTIONS, i32(5, 0), interpolation="NEAREST", fails=True),
    *(
        case("ScaleAndTranslate", IMAGE, i32(*size), f32(*scale), f32(*move), kernel_type=kernel, antialias=a)
        for kernel in (
            "lanczos1",
            "lanczos3",
            "lanczos5",
            "gaussian",
            "box",
            "triangle",
            "keyscubic",
            "mitchellcubic",
        )
        for size, scale, move, a in (
            ((3, 4), (0.4, 0.8), (0, 0), True),
            ((3, 4), (0.4, 0.8), (0.3, -0.2), False),
            ((9, 11), (1.5, 2), (-1, 1.3), True),
        )
    ),
    *(case("ScaleAndTranslate", IMAGE.astype(t), i32(3, 4), f32(0.5, 0.7), f32(0, 0)) for t in TYPES),
    case("ScaleAndTranslate", IMAGE, i32(3, 4), f32(0.5, 0), f32(0, 0), fails=True),
    case("ScaleAndTranslate", IMAGE, i32(3, 4), f32(0.5, 1), f32(0, 0), kernel_type="x", fails=True),
    *(
        case(
            "ScaleAndTranslateGrad",
            numbers(2, 3, 4, 2),
            IMAGE,
            f32(0.5, 0.8),
            f32(0, 0.3),
            kernel_type=k,
            antialias=a,
        )
        for k in ("lanczos3", "triangle")
        for a in (False, True)
    ),
]

DRAWN_BOXES = f32(
    *(
        [[0.1, 0.2, 0.8, 0.9], [-0.5, 0.3, 0.5, 1.5], [0.9, 0.9, 0.1, 0.1]],
        [[0, 0, 1, 1], [2, 2, 3, 3], [0.4, 0.4, 0.4, 0.4]],
    )
)
DRAWN = [
    *(case("DrawBoundingBoxes", numbers(2, 8, 9, n), DRAWN_BOXES) for n in (1, 3, 4)),
    case("DrawBoundingBoxes", numbers(2, 8, 9, 3).astype(np.float16), DRAWN_BOXES),
    case("DrawBoundingBoxesV2", numbers(2, 8, 9, 3), DRAWN_BOXES, f32([9, 8, 7], [6, 5, 4])),
    case("DrawBoundingBoxesV2", numbers(2, 8, 9, 3), DRAWN_BOXES, f32().reshape(0, 3)),
    case("DrawBoundingBoxesV2", numbers(2, 8, 9, 3), DRAWN_BOXES, f32([9, 8]), fails=True),
    case("DrawBoundingBoxes", numbers(2, 8, 9, 2), DRAWN_BOXES, fails=True),
    case("DrawBoundingBoxes", numbers(1, 8, 9, 3), DRAWN_BOXES, fails=True),
]
CASES = [*CROPS, *PATCHES, *COLORED, *TRANSFORMED, *DRAWN]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_images(c, ways):
    check("images", c, ways)


def test_the_first_adjust_contrast_clips():
    """Removed from graphs of producer 2 and later; TensorFlow 2.21 ran a graph of producer 1."""
    images = np.array([[[[8, 2], [6, 7]], [[3, 2], [1, 8]]]], np.uint8)
    c = case("AdjustContrast", images, factor(1.5), factor(1), factor(7))
    assert run(c, "host")[0].tolist() == [[[[7.0, 1.0], [6.75, 7.0]], [[2.25, 1.0], [1.0, 7.0]]]]


PICKED = """
    image = Placeholder() {dtype=float32, shape=(1, ?, ?, 3)}
    boxes = Placeholder() {dtype=float32, shape=(?, 4)}
    which = Placeholder() {dtype=int32, shape=(?,)}
    size = Const() {dtype=int32, value=int32(2)[3, 4]}
    crops = CropAndResize(image, boxes, which, size) {T=float32}
    y = Neg(crops) {T=float32}
"""


def test_crops_are_cut_out_in_the_engine():
    (island,) = islands_of(PICKED, ["y:0"], ["image:0", "boxes:0", "which:0"])
    assert sum(node.op_type == "Gather" for node in island.graph.node) > 4
