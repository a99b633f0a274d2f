"""Ops of TensorFlow Addons, compared with release 0.23.0 (`record_old_ops`)."""

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f32, i32, scalar
from tests.runtime.programs import session_of

import tfport
from tfport.graph.dtypes import FLOAT32, DType

FLOAT64, FLOAT16 = DType.parse("float64"), DType.parse("float16")
DRAW = np.random.default_rng(45)
IMAGES = DRAW.normal(size=(2, 5, 7, 3)).astype(np.float32)
AREAS = DRAW.integers(0, 3, (2, 9, 13))
MASKS = (DRAW.random((2, 6, 9, 2)) < 0.85).astype(np.uint8)
POINTS = np.concatenate(
    [
        DRAW.uniform(-1.5, 8, (2, 6, 2)),
        np.tile([[0, 0], [6, 4], [-1, 2], [7, 1], [2, 5], [np.nan, 1], [np.inf, 1], [-0.25, 4.5]], (2, 1, 1)),
    ],
    1,
).astype(np.float32)


def tree(times, batch, beams, lengths, end=3):
    draw = np.random.default_rng(times)
    steps = draw.integers(0, 12, (times, batch, beams)).astype(np.int32)
    parents = draw.integers(0, max(beams, 1), (times, batch, beams)).astype(np.int32)
    return case("Addons>GatherTree", steps, parents, np.array(lengths, np.int32), scalar(end, np.int32))


def broken_tree(parent, level, lengths=(3,)):
    parents = np.zeros((3, 1, 2), np.int32)
    parents[level, 0, 1] = parent
    steps = np.arange(6, dtype=np.int32).reshape(3, 1, 2)
    ends = np.array(lengths, np.int32), scalar(9, np.int32)
    return case("Addons>GatherTree", steps, parents, *ends, fails=len(lengths) > 1 or level == 2)


def correlation(shape=(2, 6, 7, 3), layout="NHWC", kind=np.float32, **attrs):
    a, b = (np.random.default_rng(seed).normal(size=shape).astype(kind) for seed in (1, 2))
    attrs = {"kernel_size": 1, "max_displacement": 2, "stride_1": 1, "stride_2": 1, "pad": 2} | attrs
    return attrs | {"a": a, "b": b, "data_format": layout}


def correlated(fails=False, **options):
    attrs = correlation(**options)
    inputs = attrs.pop("a"), attrs.pop("b")
    return case("Addons>CorrelationCost", *inputs, **attrs, fails=fails, rtol=1e-5, atol=1e-6)


def bag(indices, combiner="SUM", kind=np.float32, index=np.int32):
    indices = np.array(indices, index)
    weights = np.random.default_rng(3).normal(size=indices.shape).astype(kind)
    params = np.random.default_rng(4).normal(size=(6, 4)).astype(kind)
    close = {"rtol": 2e-3, "atol": 2e-3} if kind is np.float16 else {"rtol": 1e-5, "atol": 1e-6}
    return case("Addons>EmbeddingBag", indices, params, weights, combiner=combiner, **close)


def adjusted(images, delta, saturation, value, **options):
    scalars = (scalar(n, np.float32) for n in (delta, saturation, value))
    return case("Addons>AdjustHsvInYiq", images, *scalars, rtol=1e-5, atol=2e-6, **options)


OLD_CASES = [
    tree(7, 3, 4, [7, 4, 0]),
    tree(7, 3, 4, [9, -2, 1], end=0),
    tree(5, 1, 1, [5]),
    tree(1, 2, 3, [1, 1]),
    tree(0, 2, 3, [1, 1]),
    tree(3, 0, 2, []),
    *(broken_tree(parent, level) for parent in (-1, 5) for level in (0, 1, 2)),
    broken_tree(0, 1, lengths=(3, 3)),
    *(case("Addons>EuclideanDistanceTransform", MASKS, dtype=kind, ulps=2)
      for kind in (FLOAT32, FLOAT64, FLOAT16)),
    case("Addons>EuclideanDistanceTransform", np.ones((1, 2, 3, 1), np.uint8), dtype=FLOAT32, ulps=2),
    case("Addons>EuclideanDistanceTransform", np.zeros((0, 2, 3, 1), np.uint8), dtype=FLOAT32),
    case("Addons>EuclideanDistanceTransform", MASKS[0], dtype=FLOAT32, fails=True),
    *(case("Addons>ImageConnectedComponents", AREAS.astype(kind))
      for kind in (np.int32, np.uint8, np.float32, np.int64)),
    case("Addons>ImageConnectedComponents", (AREAS > 0)),
    case("Addons>ImageConnectedComponents", np.array([[[0.0, -0.0, np.nan, np.nan, 1, 1]]], np.float32)),
    case("Addons>ImageConnectedComponents", (np.indices((33, 20)).sum(0) % 9 > 2)[None].astype(np.int16)),
    case("Addons>ImageConnectedComponents", np.zeros((2, 0, 3), np.int32)),
    case("Addons>ImageConnectedComponents", AREAS[0], fails=True),
    *(adjusted(IMAGES, *scalars) for scalars in ((0, 1, 1), (0.7, 0.5, 1.5), (-2, 3, 0), (np.inf, 1, 1))),
    adjusted(IMAGES[:0], 1, 1, 1),
    adjusted(IMAGES[0, 0], 1, 1, 1, fails=True),
    adjusted(IMAGES[..., :2], 1, 1, 1, fails=True),
    case("Addons>Resampler", IMAGES, POINTS, rtol=1e-5, atol=1e-6),
    case("Addons>Resampler", IMAGES, POINTS.reshape(2, 7, 2, 2), rtol=1e-5, atol=1e-6),
    case("Addons>Resampler", IMAGES.astype(np.float64), POINTS.astype(np.float64), rtol=1e-12, atol=1e-12),
    case("Addons>Resampler", IMAGES[:0], POINTS[:0]),
    case("Addons>Resampler", IMAGES, POINTS[:1], fails=True),
    correlated(),
    correlated(layout="NCHW"),
    correlated(stride_2=2, pad=3),
    correlated(kernel_size=3, stride_1=2, pad=4),
    correlated(max_displacement=3, stride_2=2, stride_1=3, pad=3),
    correlated(max_displacement=0, pad=0),
    correlated(shape=(0, 6, 7, 3)),
    correlated(kernel_size=2, fails=True),
    correlated(max_displacement=9, fails=True),
    *(bag([[0, 1, 2], [5, 5, 3]], combiner, kind)
      for combiner in ("SUM", "MEAN") for kind in (np.float32, np.float64, np.float16)),
    bag([[0, 1], [5, 5]], index=np.int64),
    bag(np.zeros((2, 0))),
    case("Addons>EmbeddingBag", i32(0, 1), f32(1, 2).reshape(2, 1), f32(1, 1), combiner="SUM", fails=True),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(OLD_CASES))
def test_addons(c, ways):
    check("addons", c, ways)


def test_an_index_outside_of_the_embeddings_is_refused():
    """The real op reads the memory beside them."""
    c = bag([[1, 6]])
    graph_def, feeds = c.model("fed")
    session = tfport.Session(tfport.load(graph_def.SerializeToString()))
    with pytest.raises(tfport.Error, match=r"indices\[0,1\] = 6 is not in \[0, 6\)"):
        session.run(c.outputs(), feeds)


def test_weights_for_another_number_of_bags_are_refused():
    session = session_of("""
        indices = Placeholder() {dtype=int32, shape=(?, 2)}
        weights = Placeholder() {dtype=float32, shape=(?, 2)}
        params = Const() {dtype=float32, value=float32(3, 2)[1, 2, 3, 4, 5, 6]}
        bags = Addons>EmbeddingBag(indices, params, weights) {Tindices=int32, T=float32, combiner="SUM"}
    """)
    indices = np.array([[0, 2], [1, 1]], np.int32)
    feeds = {"indices:0": indices, "weights:0": np.array([[1, 2], [3, 4]], np.float32)}
    (bags,) = session.run(["bags:0"], feeds)
    assert bags.tolist() == [[11, 14], [21, 28]]
    with pytest.raises(tfport.Error):
        session.run(["bags:0"], feeds | {"weights:0": np.ones((1, 2), np.float32)})
