"""Large families on random inputs: tfport's engine and host kernels give TensorFlow's answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.live.record_ops import answer
from tests.runtime.cases import Case, case, check_answer

from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64, DType

EXAMPLES = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
FLOATS = st.sampled_from([np.float32, np.float64])
NUMBERS = st.sampled_from([np.float32, np.float64, np.int32, np.int64, np.uint8, np.int8])


def shapes(least: int = 0, most: int = 4) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(0, 4), min_size=least, max_size=most).map(tuple)


@st.composite
def arrays(draw, kinds=NUMBERS, shape=None):
    kind = draw(kinds)
    sizes = draw(shapes()) if shape is None else shape
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    made = rng.normal(0, 3, sizes) if kind in (np.float32, np.float64) else rng.integers(-9, 10, sizes)
    return np.asarray(made).astype(kind)


def hold(c: Case) -> None:
    """Check that every way gives TensorFlow's answer, or fails where it does."""
    expected = answer(c)
    c.fails = isinstance(expected, str)
    check_answer(c, expected, c.ways)


UNARY = "Abs Neg Square Relu Sigmoid Tanh Exp Floor Ceil Rint Sign Softplus Elu Erf Sin Atan IsNan Softsign"
BINARY = "AddV2 Sub Mul Maximum Minimum SquaredDifference Less GreaterEqual Atan2"


@pytest.mark.parametrize("op", UNARY.split())
@EXAMPLES
@given(x=arrays(FLOATS))
def test_unary(op, x):
    # near zero Elu is exp(x) - 1, whose digits cancel in float32; Tanh is a fit in TensorFlow
    hold(case(op, x, rtol=1e-5, atol=1e-6))


@pytest.mark.parametrize("op", BINARY.split())
@EXAMPLES
@given(data=st.data())
def test_binary_with_broadcasting(op, data):
    kinds = FLOATS if op == "Atan2" else st.sampled_from([np.float32, np.float64, np.int32, np.int64])
    x = data.draw(arrays(kinds))
    sizes = tuple(n if data.draw(st.booleans()) else 1 for n in x.shape)
    y = data.draw(arrays(st.just(x.dtype.type), shape=sizes[data.draw(st.integers(0, len(sizes))) :]))
    hold(case(op, x, y))


@pytest.mark.parametrize("op", ["Sum", "Mean", "Max", "Min", "Prod"])
@EXAMPLES
@given(data=st.data(), keep_dims=st.booleans())
def test_reductions(op, data, keep_dims):
    x = data.draw(arrays(st.sampled_from([np.float32, np.float64, np.int32])))
    places = st.lists(st.integers(-x.ndim, x.ndim - 1), unique_by=lambda axis: axis % x.ndim)
    axes = data.draw(places) if x.ndim else []
    hold(case(op, x, np.array(axes, np.int32), keep_dims=keep_dims, rtol=1e-5, atol=1e-5))


@EXAMPLES
@given(data=st.data(), masks=st.tuples(*[st.integers(0, 15)] * 5))
def test_strided_slice(data, masks):
    x = data.draw(arrays(shape=data.draw(shapes(1))))
    count = data.draw(st.integers(0, x.ndim))
    ints = st.integers(-5, 5)
    begin, end = (np.array(data.draw(st.lists(ints, min_size=count, max_size=count)), np.int32) for _ in "be")
    steps = st.integers(-3, 3).filter(bool)
    strides = np.array(data.draw(st.lists(steps, min_size=count, max_size=count)), np.int32)
    names = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask")
    attrs = dict(zip(names, masks, strict=False))
    ellipsis = 1 << data.draw(st.integers(0, 3)) if data.draw(st.booleans()) else 0
    hold(case("StridedSlice", x, begin, end, strides, **attrs, ellipsis_mask=ellipsis))


@EXAMPLES
@given(data=st.data())
def test_gather(data):
    params = data.draw(arrays(shape=data.draw(shapes(1))))
    axis = data.draw(st.integers(-params.ndim, params.ndim - 1))
    size = max(params.shape[axis], 1)
    indices = np.array(data.draw(st.lists(st.integers(-1, size), max_size=4)), np.int32)
    hold(case("GatherV2", params, indices, np.array(axis, np.int32), batch_dims=0))


@EXAMPLES
@given(data=st.data())
def test_reshape(data):
    x = data.draw(arrays())
    sizes = data.draw(st.permutations([*x.shape, 1]))
    if data.draw(st.booleans()):
        sizes[data.draw(st.integers(0, len(sizes) - 1))] = -1
    hold(case("Reshape", x, np.array(sizes, np.int32)))


@EXAMPLES
@given(data=st.data())
def test_concat_and_transpose(data):
    x = data.draw(arrays(shape=data.draw(shapes(1))))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    other = list(x.shape)
    other[axis] = data.draw(st.integers(0, 3))
    y = data.draw(arrays(st.just(x.dtype.type), shape=tuple(other)))
    hold(case("ConcatV2", [x, y], np.array(axis, np.int32)))
    hold(case("Transpose", x, np.array(data.draw(st.permutations(range(x.ndim))), np.int32)))


@EXAMPLES
@given(data=st.data(), padding=st.sampled_from(["SAME", "VALID"]), stride=st.integers(1, 3))
def test_convolution(data, padding, stride):
    kernel = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    height, width = data.draw(st.integers(3, 7)), data.draw(st.integers(3, 7))
    x = data.draw(arrays(st.just(np.float32), shape=(2, height, width, 3)))
    w = data.draw(arrays(st.just(np.float32), shape=(*kernel, 3, 2)))
    attrs = {"strides": [1, stride, stride, 1], "padding": padding, "dilations": [1, 1, 1, 1]}
    hold(case("Conv2D", x, w, **attrs, rtol=1e-4, atol=1e-4))  # sums of up to 27 products cancel


@EXAMPLES
@given(data=st.data(), aligned=st.booleans(), half=st.booleans())
def test_resize(data, aligned, half):
    x = data.draw(arrays(st.just(np.float32), shape=(1, *data.draw(st.tuples(*[st.integers(1, 6)] * 2)), 2)))
    size = np.array(data.draw(st.tuples(*[st.integers(1, 9)] * 2)), np.int32)
    attrs = {"align_corners": aligned and not half, "half_pixel_centers": half}
    for op in ("ResizeBilinear", "ResizeNearestNeighbor"):
        hold(case(op, x, size, **attrs, rtol=1e-4, atol=1e-5))


@EXAMPLES
@given(x=arrays(), to=st.sampled_from([FLOAT32, DType.parse("float64"), INT32, INT64, BOOL]))
def test_cast(x, to):
    hold(case("Cast", x, DstT=to))


@EXAMPLES
@given(texts=st.lists(st.text(max_size=12), max_size=4), width=st.integers(1, 1 << 40))
def test_strings(texts, width):
    made = np.empty(len(texts), object)
    made[:] = [text.encode() for text in texts]
    hold(case("StringToHashBucketFast", made, num_buckets=width))
    hold(case("StringSplitV2", made, np.array(b" ", object), maxsplit=-1))
    for op in ("StringLower", "StringUpper", "StringStrip"):
        hold(case(op, made, **({} if op == "StringStrip" else {"encoding": "utf-8"})))


@EXAMPLES
@given(data=st.data(), k=st.integers(0, 5))
def test_top_k(data, k):
    x = data.draw(arrays(st.sampled_from([np.float32, np.int32]), shape=data.draw(shapes(1, 3))))
    distinct = np.arange(math.prod(x.shape)).reshape(x.shape).astype(x.dtype)
    hold(case("TopKV2", distinct, np.array(k, np.int32), sorted=True))
