import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    boolean,
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

NAN, INF = np.nan, np.inf
FLOATS = (f32, f64, f16, bf16)
SIGNED, UNSIGNED = (i8, i16, i32, i64), (u8, u16, u32, u64)
INTEGERS = (*SIGNED, *UNSIGNED)
COMPARE = ("Less", "LessEqual", "Greater", "GreaterEqual")
EQUAL = ("Equal", "NotEqual")

CASES = [
    *(
        case(op, kind(1, 2, NAN, INF, 0), kind(1, 3, NAN, INF, -0.0))
        for op in (*EQUAL, *COMPARE)
        for kind in FLOATS
    ),
    *(case(op, kind(1, 2, 7), kind(1, 3, 4)) for op in (*EQUAL, *COMPARE) for kind in INTEGERS),
    *(case(op, kind(1, 2j, 3), kind(1, 2j, 3j)) for op in EQUAL for kind in (c64, c128)),
    *(case(op, boolean(True, False), boolean(True, True)) for op in (*EQUAL, "LogicalAnd", "LogicalOr")),
    *(case(op, strings("a", "b"), strings("a", "c")) for op in EQUAL),
    *(case(op, strings("a", "b"), strings("b")[0]) for op in EQUAL),
    *(case(op, strings(), strings()) for op in EQUAL),
    *(case(op, i32(1, 2), i32(1, 2, 3), incompatible_shape_error=False) for op in EQUAL),
    *(case(op, i32(1, 2), i32(1, 2, 3), fails=True) for op in EQUAL),
    *(case(op, f32(1, 2), f32([1], [2]), incompatible_shape_error=False) for op in EQUAL),
    *(case(op, f32(1, 2), f32(1)[0], incompatible_shape_error=False) for op in EQUAL),
    case("Less", u8(200), u8(100)),
    case("Less", u64(2**63 + 1), u64(2**63)),
    case("Equal", i64(2**53 + 1), i64(2**53)),
    case("Less", f32(1, 2), f32([1], [2])),
    case("Less", np.zeros((0, 2), np.float32), f32(1, 2)),
    case("LogicalAnd", boolean([True], [False]), boolean(True, False)),
    case("LogicalOr", scalar(True, np.bool_), boolean(True, False)),
    *(
        case("ApproximateEqual", kind(1, 2, NAN, INF), kind(1, 2.3, NAN, INF), tolerance=0.2)
        for kind in (f32, f64)
    ),
    case("ApproximateEqual", f32(1, 2), scalar(1, np.float32), tolerance=0.2, fails=True),
    *(
        case("SelectV2", boolean(True, False), kind(1, 2), kind(3, 4))
        for kind in (*FLOATS, *INTEGERS, c64, boolean)
    ),
    case("SelectV2", boolean([True], [False]), f32(1, 2), scalar(3, np.float32)),
    case("SelectV2", boolean(True, False), strings("a", "b"), strings("c")[0]),
    case("SelectV2", scalar(False, np.bool_), numbers(2, 3), numbers(3)),
    case("SelectV2", np.zeros((0, 1), np.bool_), f32([1, 2, 3]), f32(1)),
    case("SelectV2", boolean(True, False, True), f32(1, 2), f32(3, 4), fails=True),
    case("SelectV2", boolean(True, False), f32(1, NAN), f32(NAN, 4)),
    case("Select", boolean(True, False), i32([1, 2], [3, 4]), i32([5, 6], [7, 8])),
    case("Select", scalar(True, np.bool_), f32([1, 2], [3, 4]), f32([5, 6], [7, 8])),
    case("Select", boolean([True, False], [False, True]), f32([1, 2], [3, 4]), f32([5, 6], [7, 8])),
    case("Select", boolean(True, False), boolean(True, False), boolean(False, True)),
    case("Select", boolean(True, False), strings("a", "b"), strings("c", "d")),
    case(
        "Select",
        boolean([True], [False]),
        i32([1, 2], [3, 4]),
        i32([5, 6], [7, 8]),
        fails=True,
        ways=("host",),
    ),
    case("Select", boolean(True), i32([1, 2], [3, 4]), i32([5, 6], [7, 8]), fails=True, ways=("host",)),
    case("Select", boolean(True), i32(1)[0], i32(2)[0], fails=True),
    case("Select", scalar(True, np.bool_), i32(1, 2), i32(2)[0], fails=True),
    *(
        case(op, kind(12, 7, 100), kind(10, 1, 3))
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")
        for kind in INTEGERS
    ),
    case("BitwiseAnd", i32([12], [7]), i32(-1, 1)),
    *(case("Invert", kind(0, 5, 100)) for kind in INTEGERS),
    *(case("PopulationCount", kind(0, 5, 127)) for kind in INTEGERS),
    *(case("PopulationCount", kind(-1, -5, 127)) for kind in SIGNED),
    case("PopulationCount", scalar(7)),
    *(
        case(op, kind(5, 5, 5, 5, 5, 5, 5), kind(0, 1, 7, 8, 31, 64, 100))
        for op in ("LeftShift", "RightShift")
        for kind in INTEGERS
    ),
    *(
        case(op, kind(-5, -5, -5, -5), kind(0, 2, 100, -1))
        for op in ("LeftShift", "RightShift")
        for kind in SIGNED
    ),
]


# what is constant in the way `engine` is folded, which the way `host` tells as well
@pytest.mark.parametrize(("c", "ways"), checks(CASES, without="engine"))
def test_comparisons(c, ways):
    check("comparisons", c, ways)
