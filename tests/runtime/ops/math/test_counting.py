import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f32, f64, i32, i64, scalar

from tfport.graph.dtypes import FLOAT32, INT64, DType

FLOAT64 = DType.parse("float64")

NAN, INF = np.nan, np.inf
NO_FLOATS, NO_INTS = np.zeros((0,), np.float32), np.zeros((0,), np.int64)
EDGES = [0.0, 0.1, 5.0]

CASES = [
    case("Bucketize", f32(NAN, -1, 0, 0.1, 5, INF), boundaries=EDGES),
    case("Bucketize", f64([0.1, 0.10000000149]), boundaries=EDGES),
    case("Bucketize", i32(1, 2, 3, 5), boundaries=[0.0, 2.5, 5.0]),
    case("Bucketize", i64(1, 2, 3, 5), boundaries=[0.0, 2.5, 5.0]),
    case("Bucketize", i32(1, 2), boundaries=[]),
    case("Bucketize", i32(1, 2), boundaries=[3.0, 1.0], fails=True),
    case("Bucketize", i32(16777217, 2147483647, 16777215), boundaries=[16777216.0, 2147483648.0]),
    case("HistogramFixedWidth", f32(-1, 0, 1.5, 2, 5, 15, INF, -INF), f32(0, 5), scalar(5)),
    case("HistogramFixedWidth", f64([-1, 0], [1.5, 2]), f64(0, 5), scalar(5), dtype=INT64),
    case("HistogramFixedWidth", i32(-1, 0, 1, 2, 5, 15), i32(0, 5), scalar(5)),
    case("HistogramFixedWidth", i64(*range(10)), i64(0, 9), scalar(4)),
    case("HistogramFixedWidth", f32(NAN), f32(0, 5), scalar(5), fails=True),
    case("HistogramFixedWidth", f32(1), f32(1, 1), scalar(5), fails=True),
    case("HistogramFixedWidth", f32(1), f32(1, 2), scalar(0), fails=True),
    case("HistogramFixedWidth", f32(1), f32(1, 2, 3), scalar(2), fails=True),
    case("HistogramFixedWidth", NO_FLOATS, f32(1, 2), scalar(2)),
    case("Bincount", i32(1, 2, 2, 7), scalar(4), NO_FLOATS),
    case("Bincount", i32(1, 2, 2, 7), scalar(4), f32(1, 2, 3, 4)),
    case("Bincount", i32(1, 2, 2, 7), scalar(4), i64(1, 2, 3, 4)),
    case("Bincount", i32([1, 2], [2, 7]), scalar(4), NO_INTS),
    case("Bincount", np.zeros((0,), np.int32), scalar(4), NO_INTS),
    case("Bincount", i32(1, 2), scalar(0), NO_INTS),
    case("Bincount", i32(1, 2), scalar(-1), NO_INTS, fails=True),
    case("Bincount", i32(1, -2), scalar(4), NO_INTS, fails=True),
    case("Bincount", i32(1, 2, 2), scalar(4), f32(1, 2), fails=True),
    case("Bincount", i32(1, 2), i32(3), NO_INTS, fails=True),
    *(
        case("DenseBincount", i32(1, 2, 2, 7), scalar(4), w, binary_output=b)
        for b in (False, True)
        for w in (NO_FLOATS, NO_INTS, f32(1, 2, 3, 4), f64(1, 2, 3, 4))
    ),
    *(
        case("DenseBincount", i64([1, 2, 2], [0, 7, 0]), scalar(4, np.int64), w, binary_output=b)
        for b in (False, True)
        for w in (NO_FLOATS, f32([1, 2, 3], [4, 5, 6]))
    ),
    *(
        case("DenseBincount", i32([[1]]), scalar(4), NO_FLOATS, binary_output=b, fails=True)
        for b in (False, True)
    ),
    *(
        case("DenseBincount", x, scalar(4), NO_FLOATS, binary_output=b, fails=True)
        for b in (False, True)
        for x in (i32(1, -2), i32([1, -2]))
    ),
    case("DenseBincount", scalar(1), scalar(4), NO_FLOATS),
    case("DenseBincount", i32(1, 2), scalar(4), f32(1), fails=True),
    case("DenseBincount", i32(1, 2), scalar(-1), NO_FLOATS, fails=True),
    case("DenseBincount", np.zeros((2, 0), np.int32), scalar(3), NO_FLOATS),
    *(
        case(
            "IsotonicRegression",
            kind([3, 1, 2, 2, 5, 0], [1, 1, 1, 0, 0, -1], [1, 2, 3, 4, 5, 6]),
            output_dtype=dtype,
        )
        for kind, dtype in ((f32, FLOAT32), (f64, FLOAT64))
    ),
    case("IsotonicRegression", np.zeros((0, 2), np.float32), output_dtype=FLOAT32),
    case("IsotonicRegression", np.zeros((2, 0), np.float32), output_dtype=FLOAT32),
]


# what is constant in the way `engine` is folded, which the way `host` tells as well
@pytest.mark.parametrize(("c", "ways"), checks(CASES, without="engine"))
def test_counting(c, ways):
    check("counting", c, ways)
