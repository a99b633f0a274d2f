"""Elements in another type."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, out, q
from tests.runtime.cases import f16, f32, f64, i8, i16, i32, i64, u8, u16, u32

TYPES = (
    "FLOAT32",
    "INT32",
    "INT64",
    "INT8",
    "UINT8",
    "INT16",
    "UINT16",
    "UINT32",
    "BOOL",
    "FLOAT16",
    "FLOAT64",
    "COMPLEX64",
)
SOURCES = (
    f32(0, 1.75, 3, 100),
    i32(0, 1, 300, 70000),
    i64(0, 1, 2, 5000000000),
    i8(0, 1, -3, 127),
    u8(0, 1, 200),
    i16(0, -7, 300),
    u16(0, 40000),
    u32(0, 3000000000),
    np.array([True, False]),
    f16(0, 1.5, 100),
    f64(0, 1.1, 100),
    np.array([0, 1.5 + 2j], np.complex64),
)
COMPLEX = np.array([[3 + 4j, -1j], [0, -2.5]], np.complex64)

CASES = [
    *(case("CAST", source, outputs=[out(kind)]) for source in SOURCES for kind in TYPES),
    *(
        case("CAST", f32(-1.75, -0.5, -100), outputs=[out(kind)])
        for kind in ("INT32", "INT64", "INT8", "INT16", "FLOAT16")
    ),
    case("CAST", f32(0, -0.0, np.nan, 0.1), outputs=[out("BOOL")]),
    case("CAST", f32(1, 2), in_data_type="FLOAT32", out_data_type="INT32", outputs=[out("INT32")]),
    case("CAST", q(i8(1, -2), 0.5, 3), outputs=[out("FLOAT32")]),
    case("BITCAST", f32(1, -2.5), outputs=[out("INT32", shape=(2,))]),
    case("BITCAST", i32(1, -2), outputs=[out("UINT8", shape=(2, 4))]),
    case("BITCAST", i16(1, -2, 3, 4).reshape(2, 2), outputs=[out("FLOAT32", shape=(2,))]),
    case("BITCAST", i64(1, -2), outputs=[out("FLOAT64", shape=(2,))]),
    case("REAL", COMPLEX, outputs=[out("FLOAT32")]),
    case("IMAG", COMPLEX, outputs=[out("FLOAT32")]),
    case("COMPLEX_ABS", COMPLEX, outputs=[out("FLOAT32")]),
    case("REAL", COMPLEX.astype(np.complex128), outputs=[out("FLOAT64")]),
    case("IMAG", COMPLEX.astype(np.complex128), outputs=[out("FLOAT64")]),
    case("COMPLEX_ABS", COMPLEX.astype(np.complex128), outputs=[out("FLOAT64")]),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_casts(c):
    check("casts", c)
