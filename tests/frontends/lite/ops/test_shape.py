"""Shapes."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, out, q
from tests.runtime.cases import f32, i8, i32, i64, numbers, scalar, strings

KINDS = (np.float32, np.int32, np.int64, np.int8, np.uint8, np.int16, np.bool_)


def _counted(*shape, kind=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(kind)


CASES = [
    *(case("RESHAPE", _counted(4, 3, kind=kind), const(i32(2, -1))) for kind in KINDS),
    case("RESHAPE", numbers(4, 3), i32(6, 2)),
    case("RESHAPE", numbers(4, 3), new_shape=(3, 4)),
    case("RESHAPE", numbers(1), new_shape=(0,)),
    case("RESHAPE", numbers(1), new_shape=()),
    case("RESHAPE", numbers(4, 3), const(i32(6, 2)), new_shape=(3, 4)),
    case("RESHAPE", numbers(4, 3), const(scalar(6)), new_shape=(3, 4)),
    case("RESHAPE", strings("a", "b", "c", "d"), const(i32(2, 2))),
    case("RESHAPE", numbers(0, 3), const(i32(3, 0))),
    case("RESHAPE", numbers(0, 3), const(i32(-1, 3))),
    case("RESHAPE", numbers(4, 3), const(i32(5, 2)), fails=True),
    case("RESHAPE", numbers(4, 3), const(i32(-1, -1)), fails=True),
    case("SHAPE", numbers(4, 3), out_type="INT32", outputs=[out("INT32")]),
    case("SHAPE", numbers(4, 0, 3), out_type="INT64", outputs=[out("INT64")]),
    case("RANK", numbers(4, 3, 1), outputs=[out("INT32")]),
    case("RANK", scalar(1), outputs=[out("INT32")]),
    *(case("EXPAND_DIMS", _counted(2, 3, kind=kind), const(i32(1)[0])) for kind in KINDS),
    *(
        case("EXPAND_DIMS", numbers(2, 3), const(axis))
        for axis in (i32(-1), i32(0), i32(2)[0], i64(-3), i32(-3)[0])
    ),
    case("EXPAND_DIMS", numbers(2, 3), const(i32(3)), fails=True),
    case("SQUEEZE", numbers(1, 3, 1)),
    case("SQUEEZE", numbers(1, 3, 1), squeeze_dims=(0,)),
    case("SQUEEZE", numbers(1, 3, 1), squeeze_dims=(-1,)),
    case("SQUEEZE", numbers(1, 3, 1), squeeze_dims=(2, 0)),
    case("SQUEEZE", strings("a").reshape(1, 1), squeeze_dims=(1,)),
    case("SQUEEZE", numbers(1, 3, 1), squeeze_dims=(1,), fails=True),
    *(case("BROADCAST_TO", _counted(2, 1, kind=kind), const(i32(3, 2, 4)), version=2) for kind in KINDS),
    case("BROADCAST_TO", numbers(1, 3), i64(2, 3), version=2),
    case("BROADCAST_TO", f32(3)[0], i32(2, 2), version=2),
    case("BROADCAST_TO", numbers(2, 3), const(i32(2, 4)), version=2, fails=True),
    case("BROADCAST_ARGS", i32(1, 4), i32(3, 2, 1)),
    case("BROADCAST_ARGS", i64(7), i64(2, 1)),
    case("BROADCAST_ARGS", i32(2), i32(3), fails=True),
    *(
        case("FILL", const(i32(2, 3)), scalar(1, kind), outputs=[out(name)])
        for kind, name in (
            (np.float32, "FLOAT32"),
            (np.int32, "INT32"),
            (np.int64, "INT64"),
            (np.bool_, "BOOL"),
            (np.int8, "INT8"),
            (np.int16, "INT16"),
        )
    ),
    case("FILL", i32(2), const(np.array(b"ab", object)), outputs=[out("STRING")]),
    case("FILL", i32(-2), scalar(1, np.float32), outputs=[out("FLOAT32")], fails=True),
    case("ZEROS_LIKE", numbers(2, 3)),
    case("ZEROS_LIKE", i32(2, 3)),
    case("ZEROS_LIKE", i64(2, 3)),
    *(
        case("RANGE", scalar(start, kind), scalar(limit, kind), scalar(delta, kind))
        for kind in (np.int32, np.float32, np.int64)
        for start, limit, delta in ((0, 5, 1), (2, 9, 3), (5, -2, -2))
    ),
    case("RANGE", scalar(0, np.float32), scalar(1, np.float32), scalar(0.1, np.float32)),
    case("RANGE", const(scalar(1)), const(scalar(4)), const(scalar(1))),
    case("RANGE", scalar(3), scalar(1), scalar(1), fails=True),
    case("RANGE", scalar(0), scalar(1), scalar(0), fails=True),
    *(case("TILE", _counted(2, 3, kind=kind), const(i32(2, 1))) for kind in KINDS if kind != np.int16),
    case("TILE", numbers(1, 2, 2), i64(2, 3, 1)),
    case("TILE", strings("a", "b"), const(i32(3))),
    case("TILE", q(i8(1, 2), 0.5), const(i32(2))),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_shape(c):
    check("shape", c)
