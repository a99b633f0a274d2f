"""Elements in another order, and between others."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, q
from tests.runtime.cases import i8, i32, i64, numbers, scalar, u8

KINDS = (np.float32, np.int32, np.int64, np.int8, np.uint8, np.int16, np.bool_)


def _counted(*shape, kind=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(kind)


CASES = [
    *(case("TRANSPOSE", _counted(2, 3, 4, kind=kind), const(i32(2, 0, 1))) for kind in KINDS),
    case("TRANSPOSE", numbers(2, 3), i32(1, 0)),
    case("TRANSPOSE", numbers(2, 1, 3, 2, 2, 2), const(i32(5, 0, 1, 4, 2, 3))),
    case("TRANSPOSE", numbers(2, 3), const(i32(-1, 0))),
    *(case("PAD", _counted(2, 3, kind=kind), const(i32(1, 0, 0, 2).reshape(2, 2))) for kind in KINDS),
    case("PAD", numbers(2, 3), i64(1, 0, 0, 2).reshape(2, 2)),
    case("PAD", q(i8(1, 2), 0.5, -3), const(i32(1, 2).reshape(1, 2))),
    case("PAD", q(u8(1, 2), 0.5, 7), const(i32(1, 2).reshape(1, 2))),
    case("PAD", numbers(2, 2, 2, 2, 2), const(i32(1, 0, 0, 0, 0, 1, 0, 0, 1, 1).reshape(5, 2))),
    case("PAD", numbers(2), const(i32(-1, 0).reshape(1, 2)), fails=True),
    *(
        case("PADV2", _counted(2, 3, kind=kind), const(i32(1, 0, 0, 2).reshape(2, 2)), const(scalar(1, kind)))
        for kind in KINDS
    ),
    case("PADV2", numbers(2), i32(1, 2).reshape(1, 2), const(numbers(1))),
    case("PADV2", q(i8(1, 2), 0.5, -3), const(i32(1, 2).reshape(1, 2)), const(q(i8(9)[0], 0.5, -3))),
    *(
        case("MIRROR_PAD", _counted(3, 4, kind=kind), const(i32(1, 2, 2, 0).reshape(2, 2)), mode=mode)
        for kind in KINDS[:-1]
        for mode in ("REFLECT", "SYMMETRIC")
    ),
    case("MIRROR_PAD", numbers(3), i64(2, 2).reshape(1, 2), mode="REFLECT"),
    *(case("REVERSE_V2", _counted(2, 3, 2, kind=kind), const(i32(1))) for kind in KINDS),
    case("REVERSE_V2", numbers(2, 3, 2), const(i32(1, 2))),
    case("REVERSE_V2", numbers(2, 3, 2), const(i32(-1))),
    *(
        case("REVERSE_SEQUENCE", _counted(3, 4, 2, kind=kind), const(i32(1, 4, 2)), seq_dim=1, batch_dim=0)
        for kind in (np.float32, np.int32, np.int64, np.uint8, np.int16)
    ),
    case("REVERSE_SEQUENCE", numbers(3, 4), i64(2, 0, 1, 3), seq_dim=0, batch_dim=1),
    *(
        case("MATRIX_DIAG", _counted(2, 3, kind=kind))
        for kind in (np.float32, np.int32, np.int64, np.int8, np.uint8, np.int16)
    ),
    *(
        case("MATRIX_SET_DIAG", _counted(2, 3, 4, kind=kind), _counted(2, 3, kind=kind))
        for kind in (np.float32, np.int32, np.int64, np.int8, np.uint8, np.int16)
    ),
    case("MATRIX_SET_DIAG", numbers(4, 2), numbers(2)),
    *(case("DILATE", _counted(2, 3, kind=kind), const(i32(2, 3)), const(scalar(1, kind))) for kind in KINDS),
    case("DILATE", numbers(2, 1, 3), i32(1, 5, 2), scalar(0.5, np.float32)),
    case("DILATE", numbers(3), const(i32(0)), const(scalar(0.5, np.float32)), fails=True),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_rearranging(c):
    check("rearranging", c)
