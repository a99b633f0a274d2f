import itertools

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f32, i32, scalar

from tfport.graph.dtypes import DType

QUINT8, QINT8, QINT32 = (DType.parse(name) for name in ("quint8", "qint8", "qint32"))


def single(value):
    return np.array(value, np.float32)


def ends(*values):
    return [single(value) for value in values]


def whole(*shape, kind=np.uint8, seed=0):
    info = np.iinfo(kind)
    return np.random.default_rng([seed, *shape]).integers(info.min, info.max, shape, kind, endpoint=True)


def middle(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).integers(-(2**24), 2**24, shape, np.int32)


RANGES = f32(-1, -2, -1, -0.5), f32(1, 1, 3, 1)
BYTES = (-1.0, 3.0, -2.0, 0.5)
CASES = [
    *(
        case(
            "QuantizedConv2D",
            whole(1, 6, 5, 2),
            whole(k, k, 2, 3),
            *ends(*r),
            types=[QUINT8, QUINT8],
            strides=[1, s, s, 1],
            padding=p,
            out_type=QINT32,
        )
        for k, s, p, r in itertools.product((1, 3), (1, 2), ("SAME", "VALID"), (BYTES, (0.0, 1.0, -1.0, 1.0)))
    ),
    *(
        case("QuantizedMatMul", a, b, *ends(*BYTES), types=[QUINT8, QUINT8], transpose_a=ta, transpose_b=tb)
        for a, b, ta, tb in (
            (whole(3, 4), whole(4, 5), False, False),
            (whole(4, 3), whole(5, 4), True, True),
        )
    ),
    case("QuantizedMatMul", whole(3, 4), whole(3, 5), *ends(*BYTES), types=[QUINT8, QUINT8], fails=True),
    *(
        case(op, x, y, *ends(*BYTES), types=[QUINT8, QUINT8])
        for op in ("QuantizedMul", "QuantizedAdd")
        for x, y in (
            (whole(16), whole(16, seed=1)),
            (whole(4, 16), whole(16)),
            (whole(16), whole(4, 16)),
            (whole(3, 16), whole(1)),
            (whole(1), whole(3, 16)),
            (whole(2, 3, 16), whole(2, 3, 16, seed=1)),
        )
    ),
    case(
        "QuantizedBiasAdd", whole(2, 3, 4), whole(4), *ends(*BYTES), types=[QUINT8, QUINT8], out_type=QINT32
    ),
    case(
        "QuantizedBiasAdd",
        whole(2, 3, 4, kind=np.int8),
        whole(4, kind=np.int8),
        *ends(*BYTES),
        types=[QINT8, QINT8],
        out_type=QINT32,
    ),
    case(
        "QuantizedBiasAdd",
        whole(2, 4),
        whole(3),
        *ends(*BYTES),
        types=[QUINT8, QUINT8],
        out_type=QINT32,
        fails=True,
    ),
    *(
        case(op, whole(3, 5), *ends(low, high), types=[QUINT8], out_type=QUINT8)
        for op in ("QuantizedRelu", "QuantizedRelu6")
        for low, high in ((-1.0, 3.0), (-2.0, 10.0), (0.0, 8.0))
    ),
    *(
        case(
            op,
            whole(1, 5, 6, 3),
            *ends(-1, 3),
            types=[QUINT8],
            ksize=[1, k, k, 1],
            strides=[1, 2, 2, 1],
            padding=p,
        )
        for op, k, p in itertools.product(("QuantizedMaxPool", "QuantizedAvgPool"), (2, 3), ("SAME", "VALID"))
    ),
    case("QuantizedReshape", whole(2, 6), i32(3, 4), *ends(-1, 2), types=[QUINT8]),
    case("QuantizedReshape", middle(2, 6), i32(-1, 4), *ends(-1, 2), types=[QINT32]),
    *(
        case(
            "QuantizedConcat",
            scalar(axis),
            [whole(2, 3), whole(2, 3, seed=1)],
            ends(*lows),
            ends(*highs),
            types=[None, QUINT8],
        )
        for axis in (0, 1)
        for lows, highs in (((-1, -2), (1, 3)), ((-1, -1), (3, 3)), ((0.5, 1), (2, 3)))
    ),
    *(
        case("Requantize", middle(3, 5), *ends(-100, 120, *new), types=[QINT32], out_type=QUINT8)
        for new in ((-0.5, 0.4), (0.0, 1.0), (-1.0, 0.0), (0.0, 0.0))
    ),
    case("Requantize", middle(3, 5), *ends(-100, 120, 0.1, 1), types=[QINT32], out_type=QUINT8, fails=True),
    case("Requantize", middle(3, 5), *ends(-100, 120, -1, -2), types=[QINT32], out_type=QUINT8, fails=True),
    case("RequantizationRange", middle(3, 5), *ends(-100, 120), types=[QINT32]),
    case("RequantizationRange", abs(middle(3, 5)), *ends(-100, 120), types=[QINT32]),
    case("QuantizeDownAndShrinkRange", middle(3, 5), *ends(-100, 120), types=[QINT32], out_type=QUINT8),
    case("QuantizeDownAndShrinkRange", middle(3, 5) * 100, *ends(-1, 1), types=[QINT32], out_type=QUINT8),
    case("QuantizedInstanceNorm", whole(2, 4, 5, 3), *ends(-1, 3), types=[QUINT8]),
    *(
        case(
            "QuantizedBatchNormWithGlobalNormalization",
            whole(1, 2, 3, 4),
            *ends(-1, 3),
            *(
                o
                for i, (low, high) in enumerate(((-1, 1), (0, 2), (-1, 1), (-1, 1)))
                for o in (whole(4, seed=i), *ends(low, high))
            ),
            types=[QUINT8, None, None] * 5,
            out_type=QINT32,
            variance_epsilon=0.01,
            scale_after_normalization=scaled,
        )
        for scaled in (True, False)
    ),
    *(
        case(
            "RequantizationRangePerChannel",
            sign(middle(1, 2, 3, 4)),
            *RANGES,
            types=[QINT32],
            clip_value_max=clip,
        )
        for clip in (5.0, 1e-3)
        for sign in (np.negative, np.abs)
    ),
    *(
        case(
            "RequantizePerChannel",
            middle(1, 2, 3, 4),
            *RANGES,
            *ends(-0.01, 0.012),
            types=[QINT32],
            out_type=kind,
        )
        for kind in (QUINT8, QINT8)
    ),
    case(
        "QuantizedInstanceNorm",
        whole(2, 4, 5, 3),
        *ends(-1, 3),
        types=[QUINT8],
        output_range_given=True,
        given_y_min=-1.5,
        given_y_max=1.0,
    ),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_quantized(c, ways):
    check("quantized", c, ways)
