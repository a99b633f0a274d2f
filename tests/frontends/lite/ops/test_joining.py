"""Tensors put together."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, q
from tests.runtime.cases import f32, i8, i32, i64, numbers

KINDS = (np.float32, np.int32, np.int64, np.int8, np.uint8, np.int16, np.bool_)


def _counted(*shape, kind=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(kind)


CASES = [
    *(case("CONCATENATION", _counted(2, 3, kind=kind), _counted(2, 1, kind=kind), axis=1) for kind in KINDS),
    case("CONCATENATION", numbers(1, 3), const(numbers(2, 3, seed=1)), numbers(1, 3, seed=2), axis=0),
    case("CONCATENATION", numbers(2, 3, 1), numbers(2, 3, 4), axis=-1),
    case("CONCATENATION", numbers(2, 0), numbers(2, 3), axis=1),
    case("CONCATENATION", numbers(3), axis=0),
    case("CONCATENATION", numbers(2, 3), numbers(3, 3), axis=1, fails=True),
    *(
        case("PACK", _counted(2, 3, kind=kind), _counted(2, 3, kind=kind), values_count=2, axis=axis)
        for kind in KINDS[:-1]
        for axis in (0, 1, -1)
    ),
    case("PACK", f32(1)[0], f32(2)[0], values_count=2),
    case("PACK", q(i8(1, 2), 0.5, 3), q(i8(7, 9), 0.5, 3), values_count=2),
    case("ADD_N", numbers(2, 3), numbers(2, 3, seed=1), numbers(2, 3, seed=2)),
    case("ADD_N", i32(1, 2), i32(3, 2147483647)),
    *(
        case("DYNAMIC_UPDATE_SLICE", _counted(4, 3, kind=kind), _counted(2, 1, kind=kind), const(i32(1, 2)))
        for kind in KINDS
        if kind != np.uint8
    ),
    case("DYNAMIC_UPDATE_SLICE", numbers(4, 3), numbers(2, 2), i32(-5, 9)),
    case("DYNAMIC_UPDATE_SLICE", numbers(4, 3), numbers(2, 2), i64(3, 1)),
    case("DYNAMIC_UPDATE_SLICE", numbers(4, 3), numbers(5, 2), i32(0, 0), fails=True),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_joining(c):
    check("joining", c)
