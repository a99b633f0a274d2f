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
    scalar,
    u8,
    u16,
    u32,
    u64,
)

from tfport.graph.dtypes import DType

NAN, INF = np.nan, np.inf
ALL = (NAN, INF, -INF, 0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, 1e-4, -1e-4, 20, -20)
UNIT = (NAN, INF, -INF, 0, 1, -1, 0.5, -0.5, 0.99, -0.99, 1e-4, 2, -2)
ABOVE_ONE = (NAN, INF, -INF, 0, 1, 1.5, 10, 1e4)
COMPLEX = (1 + 2j, -3 + 0.5j, 0.5, 2j, -0.3 - 0.7j)
FLOATS = (f32, f64, f16, bf16)
SIGNED = (i8, i16, i32, i64)
COMPLEX64, FLOAT32 = DType.parse("complex64"), DType.parse("float32")
COMPLEX128, FLOAT64 = DType.parse("complex128"), DType.parse("float64")
OF_FLOATS = (
    "Abs Asinh Atan Ceil Cos Cosh Exp Expm1 Floor Inv IsFinite IsInf IsNan Log Log1p Neg Reciprocal "
    "Round Rsqrt Sigmoid Sign Sin Sinh Sqrt Square Tan Tanh"
)
OF_COMPLEX = (
    "Acos Acosh Asin Asinh Atan Atanh Cos Cosh Exp Expm1 Inv Log Log1p Neg Reciprocal Rsqrt Sigmoid "
    "Sign Sin Sinh Sqrt Square Tan Tanh"
)

CASES = [
    *(case(op, kind(*ALL)) for op in OF_FLOATS.split() for kind in FLOATS),
    *(case("Rint", kind(*ALL)) for kind in (f32, f64)),
    *(case(op, kind(*UNIT)) for op in ("Acos", "Asin", "Atanh") for kind in FLOATS),
    *(case("Acosh", kind(*ABOVE_ONE)) for kind in FLOATS),
    *(case(op, kind(*COMPLEX)) for op in OF_COMPLEX.split() for kind in (c64, c128)),
    *(case(op, kind(0, 5, -5, 100)) for op in ("Abs", "Neg", "Sign", "Square") for kind in SIGNED),
    *(case(op, i32(-(2**31), 3)) for op in ("Abs", "Neg", "Square")),
    *(case("Square", kind(0, 5, 20)) for kind in (u8, u16, u32, u64)),
    *(case("Round", kind(0, 5, -5)) for kind in (i32, i64)),
    case("Exp", np.zeros((0, 2), np.float32)),
    case("Exp", scalar(1, np.float32)),
    case("Sigmoid", scalar(1, np.float32)),
    # small scores keep their order
    case("Sigmoid", f32(-4, -9, -14, -17.5, -18, -21, -50, -80, -87, -88), rtol=1e-6, atol=1.2e-38),
    case("Sigmoid", f64(-4, -18, -40, -90, -700), rtol=1e-13, atol=0),
    case("Sigmoid", f16(-4, -9, -11), rtol=4e-3, atol=0),
    case("Sigmoid", bf16(-4, -9, -17, -21, -50, -80), rtol=2e-2, atol=0),
    case("Log1p", f32(1e-8, 1e-6, -1e-6, 3e-5, 1e30, -1, -1.5)),
    case("Log1p", f32(1e37, 3e38)),
    case("Expm1", f32(1e-8, 1e-6, -1e-6, 3e-5, 80, -80, 89)),
    case("Tanh", f32(1e-6, -1e-6, 5, -5, 9, -9)),
    case("LogicalNot", boolean(True, False)),
    case("LogicalNot", scalar(True, np.bool_)),
    case("Complex", f32(1, NAN), f32(INF, 2), Tout=COMPLEX64),
    case("Complex", f32(1, 2), scalar(3, np.float32), Tout=COMPLEX64),
    case("Complex", f64(1, NAN), f64(INF, 2), Tout=COMPLEX128),
    *(case(op, c64(*COMPLEX), Tout=FLOAT32) for op in ("Real", "Imag", "Angle", "ComplexAbs")),
    *(case(op, c128(*COMPLEX), Tout=FLOAT64) for op in ("Real", "Imag", "Angle", "ComplexAbs")),
    *(case("Conj", kind(*COMPLEX)) for kind in (c64, c128)),
    case("Angle", c64(0, -1, -0.0, 1j, -1j), Tout=FLOAT32),
]


# what is constant in the way `engine` is folded, which the way `host` tells as well
@pytest.mark.parametrize(("c", "ways"), checks(CASES, without="engine"))
def test_elementwise(c, ways):
    check("elementwise", c, ways)
