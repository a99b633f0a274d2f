import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    boolean,
    case,
    check,
    checks,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    numbers,
    scalar,
    strings,
    u8,
)

from tfport.graph.dtypes import FLOAT32, STRING


def f(value, kind=np.float32):
    return np.array(value, kind)


def three(kind, *values):
    return [np.array(v, kind) for v in values]


BF16 = bf16(0).dtype
CASES = [
    case("Fill", i32(2, 3), f(1.5)),
    case("Fill", i64(2, 0), scalar(7, np.int64)),
    case("Fill", np.zeros(0, np.int32), scalar(True, np.bool_)),
    case("Fill", i32(2), np.array(b"xy", object)),
    case("Fill", i32(2), scalar(3, np.uint8)),
    case("Fill", i32(2), f(1 + 2j, np.complex64)),
    case("Fill", i32(-2), f(1.5), fails=True),
    case("Fill", i32(2), f32(1.5), fails=True),
    case("ZerosLike", numbers(2, 3)),
    case("ZerosLike", f32(np.nan, np.inf)),
    case("ZerosLike", strings("a", "b")),
    case("ZerosLike", boolean(True)),
    case("ZerosLike", i8(3)),
    case("ZerosLike", bf16(3)),
    case("OnesLike", numbers(2, 0)),
    case("OnesLike", f32(np.nan, np.inf)),
    case("OnesLike", boolean(False)),
    case("OnesLike", i16(3)),
    case("OnesLike", f16(3)),
    case("Empty", i32(2, 3), dtype=FLOAT32, init=True),
    case("Empty", i32(2), dtype=STRING, init=True),
    case("Range", *three(np.int32, 3, 18, 3)),
    case("Range", *three(np.int32, 0, 5, 1)),
    case("Range", *three(np.int64, 5, 0, -2)),
    case("Range", *three(np.int32, 5, 5, 1)),
    case("Range", *three(np.int32, 5, 3, 1), fails=True),
    case("Range", *three(np.int32, 0, -3, 1), fails=True),
    case("Range", *three(np.int32, 3, 5, -1), fails=True),
    case("Range", *three(np.int32, 3, 4, -2), fails=True),
    case("Range", *three(np.int32, 3, 5, 0), fails=True),
    case("Range", *three(np.float32, 0, 100, 0.1)),
    case("Range", *three(np.float32, 0, 0.3, 0.1)),
    case("Range", *three(np.float32, 0, 7, 1)),
    case("Range", *three(np.float32, 0, 6.5, 0.5)),
    case("Range", *three(np.float32, 0, 6.7, 0.5)),
    case("Range", *three(np.float32, 0, -1, 0.5), fails=True),
    case("Range", *three(np.float64, 3, 1, -0.3)),
    case("Range", *three(np.float16, 0, 3, 0.3)),
    case("Range", *three(BF16, 0, 3, 0.3)),
    case("Range", *three(np.float32, 0, np.inf, 1), fails=True),
    case("LinSpace", f(0.3), f(7.7), scalar(9)),
    case("LinSpace", f(0.3), f(7.7), scalar(1, np.int64)),
    case("LinSpace", f(5, np.float64), f(-5, np.float64), scalar(4)),
    case("LinSpace", f(0.3), f(7.7), scalar(0), fails=True),
    case("OneHot", i64(0, 2, -1, 3, 1), scalar(3), f(1), f(0), axis=-1),
    case("OneHot", i32([0, 2], [1, 1]), scalar(3), scalar(5), scalar(2), axis=0),
    case("OneHot", i32([0, 2], [1, 1]), scalar(3), scalar(5), scalar(2), axis=1),
    case("OneHot", u8(0, 2, 200), scalar(4), scalar(True, np.bool_), scalar(False, np.bool_)),
    case("OneHot", i32(0, 1), scalar(2), np.array(b"on", object), np.array(b"off", object)),
    case("OneHot", scalar(1), scalar(2), f(1), f(0)),
    case("OneHot", i32(0, 1), scalar(0), f(1), f(0)),
    case("OneHot", np.zeros((0, 2), np.int32), scalar(3), f(1), f(0)),
    case("OneHot", i32(0, 1), scalar(2), f(np.inf), f(np.nan)),
    case("OneHot", i32(0, 1), scalar(2), f(1, np.float16), f(0, np.float16)),
    case("OneHot", i32(0, 1), scalar(2), f(1, BF16), f(0, BF16)),
    case("OneHot", i32(0, 1), scalar(-2), f(1), f(0), fails=True),
    case("OneHot", i32(0, 1), scalar(2), f(1), f(0), axis=2, fails=True),
    case("OnesLike", f64(3)),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_filling(c, ways):
    check("filling", c, ways)
