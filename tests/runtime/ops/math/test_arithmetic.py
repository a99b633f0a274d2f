import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    c64,
    c128,
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
    u16,
    u32,
    u64,
)

from tfport.graph.shapes import Shape

NAN, INF = np.nan, np.inf
X = (-7, 7, -7, 7, 1, 0, INF, 1, -1, NAN, 0, 0, 0, -0.5, 6, 5.5)
Y = (2, -2, -2, 2, 0, 0, 2, INF, INF, 1, NAN, -1, INF, 3, -3, -2.5)
FLOATS = (f32, f64, f16, bf16)
SIGNED = (i8, i16, i32, i64)
UNSIGNED = (u8, u16, u32, u64)
COMPLEX_X, COMPLEX_Y = (1 + 2j, -3 + 0.5j, 0, 2), (0.5 - 1j, 2 + 1j, 1, 3j)
OF_FLOATS = (
    "AddV2 Sub Mul RealDiv Div FloorDiv TruncateDiv FloorMod Maximum Minimum MulNoNan DivNoNan Xdivy "
    "Xlogy Xlog1py Pow SquaredDifference Atan2"
)
OF_COMPLEX = "Add AddV2 Sub Mul RealDiv Div MulNoNan DivNoNan Xdivy Xlogy SquaredDifference Pow"
OF_INTEGERS = "AddV2 Sub Mul Div FloorDiv TruncateDiv FloorMod Maximum Minimum"

CASES = [
    *(case(op, i64(2**31, 2**32 - 1, -(2**31)), i64(5, 2**31, 0)) for op in ("Maximum", "Minimum")),
    *(case(op, kind(*X), kind(*Y)) for op in OF_FLOATS.split() for kind in FLOATS),
    *(case(op, kind(*X), kind(*Y)) for op in ("Mod", "TruncateMod", "NextAfter") for kind in (f32, f64)),
    *(case(op, kind(*COMPLEX_X), kind(*COMPLEX_Y)) for op in OF_COMPLEX.split() for kind in (c64, c128)),
    case("Xlog1py", c64(*COMPLEX_X), c64(*COMPLEX_Y)),
    *(
        case(op, kind(-100, 7, -7, 7, 127), kind(2, -2, -2, 2, 100))
        for op in OF_INTEGERS.split()
        for kind in SIGNED
    ),
    *(case(op, kind(200, 7, 9), kind(100, 8, 3)) for op in OF_INTEGERS.split() for kind in UNSIGNED),
    *(case(op, i32(-7, 7, -7), i32(2, -2, -2)) for op in ("Mod", "TruncateMod")),
    *(case(op, i64(-7, 7, -7), scalar(3, np.int64)) for op in ("FloorMod", "FloorDiv", "Div", "TruncateMod")),
    *(
        case(op, i64(-7, 7, -7), scalar(-3, np.int64))
        for op in ("FloorMod", "FloorDiv", "Div", "TruncateMod")
    ),
    *(case(op, i32(-(2**31), 5, -5), scalar(2)) for op in ("FloorMod", "FloorDiv", "Div", "TruncateDiv")),
    *(
        case(op, i32(-(2**31), 5), i32(-1, -1))
        for op in ("FloorMod", "FloorDiv", "Div", "TruncateMod", "TruncateDiv")
    ),
    *(
        case(op, kind(1, 2), kind(1, 0), fails=True)
        for op in ("Div", "FloorDiv", "TruncateDiv", "FloorMod")
        for kind in (i8, i32, i64, u8)
    ),
    case("FloorDiv", i32(5)[0], i32(0)[0], fails=True),
    case("Mod", i32(1, 2), i32(1, 0), fails=True),
    case("SquaredDifference", i32(1, -5), i32(4, 4)),
    case("SquaredDifference", i64(1, -5), i64(4, 4)),
    case("Add", strings("a", "b"), strings("x")),
    case("Add", u8(200), u8(100)),
    case("Add", f32(1, 2), f32([1], [2])),
    case("AddV2", f32(1, 2, 3), f32(1, 2), fails=True),
    case("AddV2", np.zeros((0, 2), np.float32), f32(1, 2)),
    case("AddV2", np.zeros((0, 1), np.float32), f32(1, 2)),
    case("Mul", np.zeros((0,), np.float32), f32(1)),
    case("Mul", np.zeros((2, 0, 3), np.float32), scalar(2, np.float32)),
    case("Sub", numbers(2, 1, 3), numbers(4, 1)),
    case("Pow", i32(3, 7, -2, 0), i32(40, 33, 31, 0)),
    case("Pow", i64(3, 7, -2), i64(40, 33, 63)),
    case("Pow", i8(3, 7, -2), i8(5, 3, 8)),
    case("Pow", i16(3, 7, -2), i16(5, 3, 8)),
    case("Pow", i32(100000, -3), scalar(2)),
    case("Pow", i32(100000, -3), scalar(1)),
    case("Pow", i32(2, 1), i32(1, -1), fails=True),
    case("Pow", f32(-8, 0, 0, 2, -INF, 0.5), f32(1 / 3, 0, -1, 0.5, 3, 200)),
    case("ClipByValue", f32(NAN, 1, 5, -5), scalar(-1, np.float32), scalar(2, np.float32)),
    case("ClipByValue", f64(NAN, 1, 5, -5), scalar(-1, np.float64), scalar(2, np.float64)),
    case("ClipByValue", f16(NAN, 1, 5, -5), scalar(-1, np.float16), scalar(2, np.float16)),
    case("ClipByValue", bf16(NAN, 1, 5, -5), bf16(-1)[0], bf16(2)[0]),
    case("ClipByValue", f32(1, 5, -5), scalar(NAN, np.float32), scalar(2, np.float32)),
    case("ClipByValue", f32(1, 5, -5), scalar(-1, np.float32), scalar(NAN, np.float32)),
    case("ClipByValue", f32(1, 5, -5), scalar(3, np.float32), scalar(2, np.float32)),
    case("ClipByValue", f32(1, 5, -5), f32(1, 2, 3), f32(2, 3, 4)),
    case("ClipByValue", f32(1, 5, -5), f32(1, 2, 3), scalar(4, np.float32)),
    case("ClipByValue", f32(1, 5, -5), f32(1), scalar(4, np.float32), fails=True),
    case("ClipByValue", f32([1, 5, -5]), f32(1, 2, 3), scalar(4, np.float32), fails=True),
    case("ClipByValue", i32(1, 5, -5), scalar(3), scalar(2)),
    case("ClipByValue", i64([1, 5, -5]), scalar(-3, np.int64), scalar(2, np.int64)),
    case("ClipByValue", i16(1, 5, -5), scalar(-3, np.int16), scalar(2, np.int16)),
    case("ClipByValue", u8(1, 5, 9), scalar(3, np.uint8), scalar(7, np.uint8)),
    *(case("AddN", [kind(1, 2), kind(3, 4), kind(5, 6)]) for kind in (*FLOATS, *SIGNED, *UNSIGNED, c64)),
    case("AddN", [f32(1, 2)]),
    case("AddN", [f32(1, 2), f32(1)], fails=True, ways=("host",)),
    case("AddN", [f32(1, 2), f32([1, 2])], fails=True),
    case("AddN", [i8(100), i8(100)]),
    case("AccumulateNV2", [f32(1, 2), f32(3, 4)], shape=Shape((2,))),
]


# what is constant in the way `engine` is folded, which the way `host` tells as well
@pytest.mark.parametrize(("c", "ways"), checks(CASES, without="engine"))
def test_arithmetic(c, ways):
    check("arithmetic", c, ways)
