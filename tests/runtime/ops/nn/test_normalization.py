import itertools

import numpy as np
import pytest
from tests.runtime.baked import baked
from tests.runtime.cases import TOLERANCE, bf16, case, check, checks, f32, i32, i64, numbers, run

HALF = np.float16


def norm(op, x, c, **more):
    attrs = {"is_training": False, "epsilon": 1e-3, **more}
    return baked(op, x, *vectors(c, attrs), **attrs)


def vectors(c, attrs, kind=np.float32):
    empty = attrs["is_training"] and attrs.get("exponential_avg_factor", 1.0) == 1.0
    learned = (
        (np.zeros(0, kind),) * 2
        if empty
        else (numbers(c, seed=3, kind=kind), numbers(c, seed=4, low=0.1, kind=kind))
    )
    return numbers(c, seed=1, kind=kind), numbers(c, seed=2, kind=kind), *learned


def grad(op, x, c, *more, **attrs):
    return case(
        op,
        numbers(*x.shape, seed=5, kind=x.dtype),
        x,
        numbers(c, seed=1),
        numbers(c, seed=3),
        numbers(c, seed=4, low=0.1),
        *more,
        epsilon=1e-3,
        **attrs,
    )


ALL = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
CASES = [
    *(
        norm(op, numbers(2, 4, 5, 3), 3, is_training=training, exponential_avg_factor=factor)
        for op, training, factor in itertools.product(ALL, (False, True), (1.0, 0.1))
    ),
    *(
        norm(op, numbers(2, 3, 4, 5), 3, data_format="NCHW", is_training=t)
        for op in ALL
        for t in (False, True)
    ),
    norm("FusedBatchNormV3", numbers(2, 2, 3, 2, 3), 3, data_format="NDHWC", is_training=True),
    norm("FusedBatchNormV3", numbers(2, 3, 2, 3, 2), 3, data_format="NCDHW", is_training=True),
    # TensorFlow leaves the reserve outputs uninitialized
    norm("FusedBatchNormV3", numbers(2, 2, 3, 2, 3), 3, data_format="NDHWC", wanted=3),
    norm("FusedBatchNormV3", numbers(2, 3, 2, 3, 2), 3, data_format="NCDHW", wanted=3),
    *(
        norm("FusedBatchNormV3", x, 3, is_training=training)
        for x in (numbers(2, 4, 5, 3, kind=HALF), bf16(*numbers(2, 4, 5, 3)))
        for training in (False, True)
    ),
    norm("FusedBatchNormV3", numbers(1, 1, 1, 3), 3, is_training=True),
    norm("FusedBatchNormV3", numbers(0, 4, 5, 3), 3, ways=("host",)),
    norm("FusedBatchNormV3", numbers(0, 4, 5, 3), 3, wanted=1),
    norm("FusedBatchNormV3", numbers(0, 4, 5, 3), 3, is_training=True, ways=("host",)),
    norm("FusedBatchNormV3", np.full((1, 2, 2, 3), np.nan, np.float32), 3),
    norm("FusedBatchNormV3", numbers(2, 4, 5, 3), 2, fails=True),
    norm("FusedBatchNormV3", numbers(4, 5, 3), 3, fails=True),
    *(
        grad(op, numbers(2, 4, 5, 3), 3, *more, is_training=training)
        for op, more in (
            ("FusedBatchNormGrad", ()),
            ("FusedBatchNormGradV2", ()),
            ("FusedBatchNormGradV3", (np.zeros(0, np.float32),)),
        )
        for training in (False, True)
    ),
    *(
        case("LRN", numbers(2, 2, 3, depth), depth_radius=radius, bias=bias, alpha=alpha, beta=beta)
        for depth, radius, bias, alpha, beta in (
            (7, 2, 1.0, 1.0, 0.5),
            (7, 5, 2.0, 0.01, 0.75),
            (4, 9, 1.5, 0.5, 1.0),
            (5, 0, 1.0, 1.0, 0.5),
            (3, 1, 0.5, 2.0, 0.9),
        )
    ),
    case("LRN", numbers(1, 2, 2, 6, kind=HALF)),
    case("LRN", numbers(2, 2, 6), fails=True),
    case(
        "LRNGrad",
        *(numbers(1, 2, 2, 6, seed=s) for s in range(3)),
        depth_radius=2,
        bias=1.0,
        alpha=0.5,
        beta=0.75,
    ),
    *(
        case("BiasAdd", numbers(*shape), numbers(3))
        for shape in ((2, 3), (2, 1, 3), (2, 2, 1, 3), (1, 1, 2, 1, 3), (0, 3))
    ),
    *(
        case("BiasAdd", numbers(2, 3, *rest), numbers(3), data_format="NCHW")
        for rest in ((4,), (4, 2), (2, 2, 2))
    ),
    *(
        case("BiasAdd", numbers(2, 3, kind=k, low=-9, high=9), numbers(3, kind=k, low=-9, high=9))
        for k in (np.int32, np.int64, np.float64, HALF)
    ),
    case("BiasAdd", bf16([1, 2], [3, 4]), bf16(0.1, 0.2)),
    case("BiasAdd", numbers(2, 3), numbers(2), fails=True),
    case("BiasAdd", numbers(2, 3), numbers(3), data_format="NCHW", fails=True),
    case("BiasAdd", numbers(2, 3), numbers(1), fails=True),
    case("BiasAdd", numbers(3), numbers(3), fails=True),
    case("BiasAdd", numbers(2, 3), numbers(1, 3), fails=True),
    case("BiasAddV1", numbers(2, 4, 3), numbers(3)),
    case("BiasAddGrad", numbers(2, 4, 3)),
    case("BiasAddGrad", numbers(2, 3, 4), data_format="NCHW"),
    case("BiasAddGrad", numbers(0, 3)),
    case("DataFormatDimMap", i32(0, 1, 2, 3, -1, -2, -4)),
    case("DataFormatDimMap", i64([0, 1], [-1, 3]), src_format="NDHWC", dst_format="NCDHW"),
    case("DataFormatDimMap", i32(4, 7)),
    case("DataFormatDimMap", i32(-5)),
    case("DataFormatVecPermute", i32(1, 2, 3, 4)),
    case("DataFormatVecPermute", i64([1, 2], [3, 4], [5, 6], [7, 8]), src_format="NCHW", dst_format="NHWC"),
    case("DataFormatVecPermute", i32(1, 2), src_format="NCHW", dst_format="NHWC"),
    case("DataFormatVecPermute", i32(1, 2, 3, 4, 5), src_format="NDHWC", dst_format="NCDHW"),
    case("DataFormatVecPermute", i32(1, 2, 3), src_format="NDHWC", dst_format="NCDHW"),
    case("DataFormatVecPermute", i32(1, 2, 3), fails=True),
    case("DataFormatVecPermute", np.zeros((1, 4, 2), np.int32), fails=True),
    *(
        case(
            "InTopKV2",
            f32(
                [0.1, 0.9, 0.3],
                [0.3, 0.3, 0.3],
                [np.nan, 1, 2],
                [np.inf, 1, 2],
                [1, 2, -np.inf],
                [1, 2, 3],
                [1, 2, 3],
            ),
            targets(2, 0, 2, 2, 1, 3, -1),
            targets(k)[0],
        )
        for k in (0, 1, 2, 5)
        for targets in (i32, i64)
    ),
    case("InTopK", f32([0.1, 0.9, 0.3], [0.3, 0.3, 0.3]), i32(2, 0), k=2),
    case("InTopK", f32([0.1, 0.9, 0.3], [0.3, 0.3, 0.3]), i32(2, 0, 1), k=2, fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_normalization(c, ways):
    check("normalization", c, ways)


@pytest.mark.parametrize("way", ["static", "dynamic", "fed", "host"])
@pytest.mark.parametrize("kind", [np.float32, np.float64, HALF])
def test_batch_norm_with_global_normalization(kind, way):
    """TensorFlow removed this op in 2015, so the expected values are computed here."""
    x, m, v, beta, gamma = (
        numbers(2, 3, 4, 2, kind=kind),
        *(numbers(2, seed=s, low=0.1, kind=kind) for s in range(4)),
    )
    for scaled in (True, False):
        attrs = {"variance_epsilon": 0.01, "scale_after_normalization": scaled}
        (y,) = run(baked("BatchNormWithGlobalNormalization", x, m, v, beta, gamma, **attrs), way)
        x64, m64, v64, b64, g64 = (a.astype(np.float64) for a in (x, m, v, beta, gamma))
        expected = (x64 - m64) / np.sqrt(v64 + 0.01) * (g64 if scaled else 1) + b64
        assert y.dtype == kind
        np.testing.assert_allclose(y, expected, rtol=TOLERANCE.get(np.dtype(kind).name, 1e-5), atol=1e-5)


def test_fused_batch_norm_ex_adds_the_side_input_and_applies_the_activation():
    """TensorFlow's CPU kernel of this op returns nothing."""
    x, side, parameters = numbers(2, 4, 5, 4), numbers(2, 4, 5, 4, seed=7), vectors(4, {"is_training": False})
    (plain, *_) = run(case("FusedBatchNormV3", x, *parameters, is_training=False), "host")
    fused = case("_FusedBatchNormEx", x, *parameters, [side], is_training=False, activation_mode="Relu")
    np.testing.assert_allclose(run(fused, "host")[0], np.maximum(plain + side, 0), rtol=1e-6)


def test_a_variance_below_zero_gives_nan_without_a_warning():
    parameters = (f32(1, 1), f32(0, 0), f32(0, 0), f32(1, -1))
    model = baked("FusedBatchNormV3", numbers(1, 2, 2, 2), *parameters, is_training=False)
    for way in model.ways:
        np.testing.assert_array_equal(np.isnan(run(model, way)[0][0, 0, 0]), [False, True])
