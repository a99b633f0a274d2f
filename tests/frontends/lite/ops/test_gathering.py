"""Elements by their indices."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, out, q
from tests.runtime.cases import f32, i8, i16, i32, i64, numbers, scalar, strings

KINDS = (np.float32, np.int32, np.int64, np.int8, np.uint8, np.int16, np.bool_)


def _counted(*shape, kind=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(kind)


CASES = [
    *(case("GATHER", _counted(4, 3, kind=kind), i32(3, 0, 0)) for kind in KINDS),
    case("GATHER", numbers(4, 3), const(i64(2, 1)), axis=1),
    case("GATHER", numbers(4, 3), i16(2, 1), axis=-1),
    case("GATHER", numbers(4, 3), i32(2)[0]),
    case("GATHER", numbers(2, 4, 3), const(i32(1, 0, 3, 2).reshape(2, 2)), axis=1),
    case("GATHER", numbers(2, 4, 3), i32(1, 0, 3, 2).reshape(2, 2), axis=1, batch_dims=1),
    case("GATHER", numbers(2, 4, 3), i32(1, 0, 3, 2).reshape(2, 2), axis=2, batch_dims=-1, fails=True),
    case("GATHER", numbers(2, 4, 3), i32(1, 0).reshape(2, 1), axis=2, batch_dims=1),
    case("GATHER", strings("a", "bc", "", "def"), i32(3, 0)),
    case("GATHER", q(i8(1, 2, 3), 0.5, 3), const(i32(1, 1))),
    case("GATHER", numbers(3), i32(3), fails=True),
    case("GATHER", numbers(3), i32(-1), fails=True),
    *(case("GATHER_ND", _counted(2, 3, 2, kind=kind), i32(0, 2, 1, 0).reshape(2, 2)) for kind in KINDS),
    case("GATHER_ND", numbers(2, 3), i64(1, 2)),
    case("GATHER_ND", numbers(2, 3), i16(1, 0).reshape(2, 1)),
    case("GATHER_ND", strings("a", "bc"), const(i32(1, 0).reshape(2, 1))),
    case("GATHER_ND", numbers(2, 3), i32(2, 0).reshape(1, 2), fails=True),
    case("GATHER_ND", numbers(2, 3), i32(1, -1).reshape(1, 2), fails=True),
    *(
        case(
            "SCATTER_ND",
            i32(4, 1, 4).reshape(3, 1),
            np.array([1, 2, 3]).astype(kind),
            const(i32(6)),
            outputs=[out(name)],
        )
        for kind, name in (
            (np.float32, "FLOAT32"),
            (np.int32, "INT32"),
            (np.int8, "INT8"),
            (np.uint8, "UINT8"),
            (np.int64, "INT64"),
        )
    ),
    case("SCATTER_ND", i32(0, 1, 1, 0).reshape(2, 2), numbers(2, 3), i32(2, 2, 3), outputs=[out("FLOAT32")]),
    case("SCATTER_ND", i32(6).reshape(1, 1), f32(1), const(i32(6)), outputs=[out("FLOAT32")], fails=True),
    case(
        "SPARSE_TO_DENSE",
        i32(0, 2, 4),
        const(i32(5)),
        f32(2, 3, 4),
        const(f32(0)[0]),
        outputs=[out("FLOAT32")],
    ),
    case(
        "SPARSE_TO_DENSE",
        i32(0, 1, 1, 2).reshape(2, 2),
        const(i32(2, 3)),
        i32(7, 8),
        const(i32(9)[0]),
        outputs=[out("INT32")],
    ),
    case(
        "SPARSE_TO_DENSE",
        i64(0, 1, 1, 2).reshape(2, 2),
        i64(2, 3),
        i64(7, 8),
        const(i64(9)[0]),
        outputs=[out("INT64")],
        validate_indices=True,
    ),
    *(
        case(
            "ONE_HOT",
            indices,
            const(scalar(3)),
            const(scalar(on, kind)),
            const(scalar(off, kind)),
            axis=axis,
            outputs=[out(name)],
        )
        for axis in (-1, 0, 1)
        for indices in (i32(0, 2, -1, 3), i64(1, 0, 0, 5))
        for on, off, kind, name in (
            (2.5, -1, np.float32, "FLOAT32"),
            (7, 1, np.int32, "INT32"),
            (1, 0, np.bool_, "BOOL"),
        )
    ),
    case(
        "ONE_HOT",
        i32(0, 2, 1, 1).reshape(2, 2),
        scalar(3),
        scalar(1, np.int8),
        scalar(0, np.int8),
        axis=1,
        outputs=[out("INT8")],
    ),
    case(
        "ONE_HOT",
        i32(2)[0],
        scalar(3),
        scalar(1, np.int64),
        scalar(0, np.int64),
        axis=-1,
        outputs=[out("INT64")],
    ),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_gathering(c):
    check("gathering", c)
