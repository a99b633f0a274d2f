"""Largest elements, distinct elements, running sums and segments."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, out, q
from tests.runtime.cases import f32, f64, i8, i16, i32, i64, numbers, scalar, u8

SEGMENTS = ("UNSORTED_SEGMENT_SUM", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN")


CASES = [
    *(
        case(op, x, const(scalar(axis)), output_type=kind, outputs=[out(kind)])
        for op in ("ARG_MAX", "ARG_MIN")
        for kind in ("INT32", "INT64")
        for axis in (0, 1, -1)
        for x in (numbers(2, 3), i32(1, 5, 5, 5, 1, 1).reshape(2, 3), i8(1, 5, 5, 5, 1, 1).reshape(2, 3))
    ),
    case("ARG_MAX", q(u8(1, 9, 3), 0.5, 2), const(i32(0)), output_type="INT32", outputs=[out("INT32")]),
    case(
        "ARG_MAX", np.array([True, False, True]), const(i32(0)), output_type="INT32", outputs=[out("INT32")]
    ),
    case("ARG_MAX", numbers(2, 3, 2), const(i64(1)[0]), output_type="INT32", outputs=[out("INT32")]),
    *(
        case("TOPK_V2", x, const(scalar(2)), outputs=[out(kind), out("INT32")])
        for x, kind in (
            (numbers(2, 5), "FLOAT32"),
            (f32(1, 3, 3, 2, 3), "FLOAT32"),
            (i32(4, 1, 4), "INT32"),
            (i64(4, 1, 4), "INT64"),
            (i8(4, 1, 4), "INT8"),
            (u8(4, 1, 4), "UINT8"),
            (i16(4, 1, 4), "INT16"),
        )
    ),
    case("TOPK_V2", numbers(2, 5), scalar(3), outputs=[out("FLOAT32"), out("INT32")]),
    case("TOPK_V2", numbers(2, 5), const(i32(5)), outputs=[out("FLOAT32"), out("INT32")]),
    case("TOPK_V2", numbers(2, 5), const(scalar(2, np.int16)), outputs=[out("FLOAT32"), out("INT16")]),
    case("TOPK_V2", numbers(2, 5), const(scalar(6)), outputs=[out("FLOAT32"), out("INT32")], fails=True),
    *(
        case("UNIQUE", np.array([3, 1, 3, 2, 1], kind), idx_out_type=index, outputs=[out(name), out(index)])
        for kind, name in (
            (np.float32, "FLOAT32"),
            (np.int32, "INT32"),
            (np.int64, "INT64"),
            (np.int8, "INT8"),
            (np.uint8, "UINT8"),
            (np.int16, "INT16"),
        )
        for index in ("INT32", "INT64")
    ),
    *(
        case(
            "CUMSUM",
            numbers(2, 3, kind=kind, low=-9, high=9),
            const(scalar(axis)),
            exclusive=exclusive,
            reverse=reverse,
        )
        for kind in (np.float32, np.int32, np.int64)
        for axis, exclusive, reverse in (
            (0, False, False),
            (1, True, False),
            (-1, False, True),
            (1, True, True),
        )
    ),
    *(
        case("BUCKETIZE", x, boundaries=(0.0, 10.0, 100.0), outputs=[out("INT32")])
        for x in (
            f32(-5, 0, 9.5, 10, 1000),
            i32(-5, 0, 9, 10, 1000),
            i64(-5, 0, 9, 10, 1000),
            f64(-5, 0, 9.5, 10, 1000),
        )
    ),
    case("BUCKETIZE", f32(1, 2), boundaries=(), outputs=[out("INT32")]),
    *(
        case("SEGMENT_SUM", numbers(4, 2, kind=kind, low=-9, high=9), const(i32(0, 0, 1, 1)))
        for kind in (np.float32, np.int32)
    ),
    case("SEGMENT_SUM", numbers(3), i32(0, 1, 1)),
    case("SEGMENT_SUM", numbers(3), const(i32(1, 0, 1)), fails=True),
    *(
        case(op, numbers(4, 2, kind=kind, low=-9, high=9), i32(2, 0, 0, 2), const(i32(4)))
        for op in SEGMENTS
        for kind in (np.float32, np.int32)
    ),
    *(case(op, numbers(4), i32(1, 0, -1, 1), scalar(2), fails=False) for op in SEGMENTS),
    *(case(op, numbers(4), i32(1, 0, 5, 1), scalar(2), fails=True) for op in SEGMENTS),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_ranking(c):
    check("ranking", c)
