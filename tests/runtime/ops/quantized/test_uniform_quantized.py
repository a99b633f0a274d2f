import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f32, i32, numbers

from tfport.graph.dtypes import FLOAT32, DType

QINT8, QINT32 = (DType.parse(name) for name in ("qint8", "qint32"))
X = f32([-3, -1.5, -0.25, -0.125], [0, 0.125, 0.25, 0.375], [1, 2.5, 100, -100])


def single(value, kind=np.float32):
    return np.array(value, kind)


def limits(name, low, high):
    return {f"{name}quantization_min_val": low, f"{name}quantization_max_val": high}


def whole(*shape, kind=np.int8, most=128):
    return np.random.default_rng([most, *shape]).integers(-most, most, shape, kind)


PER_AXIS = f32(0.25, 0.5, 1), i32(0, 1, -2)
BYTE = limits("", -128, 127)
WIDE = (-(2**31), 2**31 - 1)
CASES = [
    *(
        case("UniformQuantize", X, single(0.25), single(3, np.int32), Tout=kind, **BYTE)
        for kind in (QINT8, QINT32)
    ),
    case(
        "UniformQuantize",
        numbers(5, 7, low=-50, high=50),
        single(0.3),
        single(-7, np.int32),
        Tout=QINT8,
        **BYTE,
    ),
    case("UniformQuantize", X, *PER_AXIS, Tout=QINT8, quantization_axis=0, **limits("", -127, 127)),
    case("UniformQuantize", X, *PER_AXIS, Tout=QINT8, quantization_axis=1, **BYTE, fails=True),
    case("UniformQuantize", X, single(-0.25), single(3, np.int32), Tout=QINT8, **BYTE),
    case(
        "UniformDequantize",
        whole(3, 4),
        single(0.3),
        single(3, np.int32),
        types=[QINT8],
        Tout=FLOAT32,
        **BYTE,
    ),
    case(
        "UniformDequantize", whole(3, 4), *PER_AXIS, types=[QINT8], Tout=FLOAT32, quantization_axis=0, **BYTE
    ),
    *(
        case(
            "UniformRequantize",
            whole(6, 40),
            single(scale),
            single(3, np.int32),
            single(new),
            single(-5, np.int32),
            types=[QINT8],
            Tout=QINT8,
            **limits("input_", -128, 127),
            **limits("output_", -128, 127),
        )
        for scale, new in ((0.25, 0.4), (0.25, 0.5), (0.3, 0.1), (1, 1))
    ),
    case(
        "UniformRequantize",
        whole(6, 40, kind=np.int32, most=2**20),
        single(0.001),
        single(3, np.int32),
        single(4.7),
        single(-5, np.int32),
        types=[QINT32],
        Tout=QINT8,
        **limits("input_", *WIDE),
        **limits("output_", -128, 127),
    ),
    case(
        "UniformRequantize",
        whole(3, 40),
        *PER_AXIS,
        single(0.4),
        single(-5, np.int32),
        types=[QINT8],
        Tout=QINT8,
        input_quantization_axis=0,
        **limits("input_", -128, 127),
        **limits("output_", -128, 127),
    ),
    case(
        "UniformQuantizedClipByValue",
        whole(3, 4, kind=np.int32, most=5000),
        single(-2500, np.int32),
        single(3100, np.int32),
        single(0.5),
        single(0, np.int32),
        types=[QINT32] * 3,
        **limits("", *WIDE),
    ),
    case(
        "UniformQuantizedAdd",
        whole(3, 4, kind=np.int32, most=5000),
        whole(4, kind=np.int32, most=5000),
        single(0.3),
        single(1, np.int32),
        single(0.25),
        single(2, np.int32),
        single(0.125),
        single(7, np.int32),
        types=[QINT32, QINT32],
        **limits("lhs_", *WIDE),
        **limits("rhs_", *WIDE),
        **limits("output_", *WIDE),
    ),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_uniform_quantized(c, ways):
    check("uniform_quantized", c, ways)
