import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    boolean,
    c64,
    case,
    check,
    checks,
    f32,
    f64,
    graph_case,
    i32,
    i64,
    numbers,
    scalar,
    strings,
    u8,
)

from tfport.graph.dtypes import INT32, INT64
from tfport.graph.shapes import Shape

EMPTY = np.zeros(0, np.int32)

CASES = [
    case("Shape", numbers(2, 3), out_type=INT32),
    case("Shape", numbers(2, 0, 3), out_type=INT64),
    case("Shape", scalar(1.0, np.float32)),
    case("Shape", strings("a", "b")),
    case("ShapeN", [numbers(2, 3), numbers(4), numbers()], out_type=INT64),
    case("Size", numbers(2, 3)),
    case("Size", numbers(2, 0), out_type=INT64),
    case("Size", strings("a", "b")),
    case("Rank", numbers(2, 3)),
    case("Rank", scalar(3)),
    case("Rank", strings("a")),
    case("Reshape", numbers(2, 6), i32(3, -1)),
    case("Reshape", numbers(2, 6), i64(12)),
    case("Reshape", numbers(1), EMPTY),
    case("Reshape", numbers(0, 3), i32(3, 0)),
    case("Reshape", numbers(0, 3), i32(-1, 3)),
    case("Reshape", numbers(0, 3), i32(0, -1)),
    case("Reshape", numbers(2, 0, 3), i32(-1, 7)),
    case("Reshape", numbers(2, 6), i32(5, -1), fails=True),
    case("Reshape", numbers(2, 6), i32(-1, -1), fails=True),
    case("Reshape", numbers(2, 6), i32(-2, 6), fails=True),
    case("Reshape", numbers(2, 6), i32(11), fails=True),
    case("Reshape", numbers(2, 6), i32(0, 12), fails=True),
    case("Reshape", strings("a", "b"), i32(2, 1)),
    case("Reshape", boolean(True, False), i32(2, 1)),
    case("Reshape", c64(1, 2j), i32(2, 1)),
    case("Reshape", bf16(1, 2), i32(2, 1)),
    case("Squeeze", numbers(1, 2, 1), squeeze_dims=[]),
    case("Squeeze", numbers(1, 2, 1), squeeze_dims=[-1]),
    case("Squeeze", numbers(1, 2, 1), squeeze_dims=[0, 2]),
    case("Squeeze", numbers(1, 2, 1), squeeze_dims=[1], fails=True),
    case("Squeeze", numbers(1, 2, 1), squeeze_dims=[3], fails=True),
    case("Squeeze", strings(["a", "b"]), squeeze_dims=[]),
    case("Squeeze", u8([[3]])),
    case("ExpandDims", numbers(2, 3), scalar(0)),
    case("ExpandDims", numbers(2, 3), scalar(-1, np.int64)),
    case("ExpandDims", numbers(2, 3), i32(-2)),
    case("ExpandDims", numbers(2, 3), scalar(3), fails=True),
    case("ExpandDims", numbers(2, 3), scalar(-4), fails=True),
    case("ExpandDims", strings("a"), scalar(1)),
    case("EnsureShape", numbers(2, 3), shape=Shape((None, 3))),
    case("EnsureShape", numbers(2, 3), shape=Shape((2, 3))),
    case("EnsureShape", numbers(2, 3), shape=Shape((3, 2)), fails=True),
    case("EnsureShape", numbers(2, 3), shape=Shape((None, 2)), fails=True),
    case("EnsureShape", numbers(2, 3), shape=Shape((6,)), fails=True),
    case("EnsureShape", strings("a"), shape=Shape((1,))),
    case("GuaranteeConst", numbers(2)),
    case("DeepCopy", numbers(2)),
    case("BroadcastTo", numbers(3, 1), i32(2, 3, 4)),
    case("BroadcastTo", numbers(), i64(2, 2)),
    case("BroadcastTo", numbers(1), i32(0, 3)),
    case("BroadcastTo", numbers(3), i32(3)),
    case("BroadcastTo", numbers(3), i32(1), fails=True),
    case("BroadcastTo", numbers(3), i32(0), fails=True),
    case("BroadcastTo", numbers(2, 3), i32(3), fails=True),
    case("BroadcastTo", numbers(1, 3), i32(-1, 3), fails=True),
    case("BroadcastTo", strings("a"), i32(2, 2)),
    case("BroadcastTo", boolean(True), i32(2, 2)),
    case("BroadcastArgs", i32(2, 1, 4), i32(3, 1)),
    case("BroadcastArgs", EMPTY, i32(3, 1)),
    case("BroadcastArgs", i64(2), i64(3), fails=True),
    case("BroadcastGradientArgs", i32(2, 3, 1), i32(3, 5)),
    case("BroadcastGradientArgs", i32(2, 3, 1), i32(2, 3, 1)),
    case("BroadcastGradientArgs", i64(1, 1), i64(1)),
    case("BroadcastGradientArgs", i32(1, 1, 1), i32(1, 1)),
    case("BroadcastGradientArgs", EMPTY, i32(1, 2)),
    case("BroadcastGradientArgs", i32(0, 1), i32(1, 2)),
    case("BroadcastGradientArgs", i32(5, 1, 1, 3), i32(1, 1, 7, 3)),
    case("BroadcastGradientArgs", i32(3), i32(2), fails=True),
    case("ConcatOffset", scalar(1), [i32(2, 2, 7), i32(2, 3, 7), i32(2, 9, 7)]),
    case("ConcatOffset", scalar(-1), [i64(2, 2), i64(2, 3)]),
    case("ConcatOffset", scalar(1), [i32(2, 2), i32(3, 3)], fails=True),
    case("InvertPermutation", i32(3, 4, 0, 2, 1)),
    case("InvertPermutation", i64(0)),
    case("InvertPermutation", i32(0, 0), fails=True),
    case("InvertPermutation", i32(0, 2), fails=True),
    case("UnravelIndex", i32(5, 7, 0), i32(3, 3)),
    case("UnravelIndex", scalar(5, np.int64), i64(2, 3)),
    case("UnravelIndex", i32(-1), i32(3, 3)),
    case("UnravelIndex", i32(9), i32(3, 3), fails=True),
    case("ToBool", scalar(0.0, np.float32)),
    case("ToBool", scalar(np.nan, np.float32)),
    case("ToBool", i32(0)),
    case("ToBool", EMPTY),
    case("ToBool", np.array(b"", object)),
    case("ToBool", np.array(b"a", object)),
    graph_case(
        """
        x = Placeholder() {dtype=float32, shape=(?,7,4)}
        s = Shape(x) {T=float32, out_type=int32}
        zero = Const() {dtype=int32, value=int32(1,)[0]}
        one = Const() {dtype=int32, value=int32(1,)[1]}
        batch = StridedSlice(s, zero, one, one) {T=int32, Index=int32, shrink_axis_mask=1}
        n = Const() {dtype=int32, value=int32()[28]}
        wanted = Pack(batch, n) {N=2, T=int32}
        y = Reshape(x, wanted) {T=float32, Tshape=int32}
        """,
        fetches=["y:0", "s:0", "batch:0"],
        x=numbers(3, 7, 4),
    ),
    case("Squeeze", f64([[1.0]], [[2.0]])),
    case("BroadcastTo", f32(1, 2), i32(2)),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_shapes(c, ways):
    check("shapes", c, ways)
