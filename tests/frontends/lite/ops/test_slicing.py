"""Parts of tensors."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, out, q
from tests.runtime.cases import f32, i8, i16, i32, i64, numbers, strings

KINDS = (np.float32, np.int32, np.int64, np.int8, np.uint8, np.int16, np.bool_)


def _counted(*shape, kind=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(kind)


CASES = [
    *(
        case("SLICE", _counted(3, 4, 5, kind=kind), const(i32(1, 0, 2)), const(i32(2, -1, 3)))
        for kind in KINDS
    ),
    case("SLICE", numbers(3, 4), i32(1, 1), i32(-1, 2)),
    case("SLICE", numbers(3, 4), const(i64(0, 2)), const(i64(3, 0))),
    case("SLICE", numbers(2, 2, 2, 2, 3), const(i32(0, 1, 0, 1, 1)), const(i32(-1, -1, 1, 1, 2))),
    case("SLICE", strings("a", "bc", "", "def"), const(i32(1)), const(i32(3))),
    case("SLICE", q(i8(1, 2, 3), 0.5, 3), const(i32(1)), const(i32(2))),
    case("SLICE", numbers(3), const(i32(1)), const(i32(3)), fails=True),
    case("SLICE", numbers(3), const(i32(1)), const(i32(-2)), fails=True),
    *(
        case(
            "STRIDED_SLICE",
            _counted(4, 5, kind=kind),
            const(i32(1, -1)),
            const(i32(4, -6)),
            const(i32(2, -2)),
        )
        for kind in KINDS
    ),
    case("STRIDED_SLICE", strings("a", "bc", "", "def"), const(i32(3)), const(i32(0)), const(i32(-2))),
    *(
        case("STRIDED_SLICE", _counted(3, 4, 5), const(begin), const(end), const(strides), **masks)
        for begin, end, strides, masks in (
            (i32(0, 0, 0), i32(2, 3, 4), i32(1, 2, 3), {}),
            (i32(1, 1, 1), i32(2, 2, 2), i32(1, 1, 1), {"begin_mask": 5, "end_mask": 3}),
            (i32(1, 0, 1), i32(2, 0, 2), i32(1, 1, 1), {"ellipsis_mask": 2}),
            (i32(0, 1), i32(0, 3), i32(1, 2), {"ellipsis_mask": 1}),
            (i32(1, 0, 2), i32(2, 0, 3), i32(1, 1, 1), {"new_axis_mask": 2}),
            (i32(1, 0, -1), i32(2, 4, 0), i32(1, 1, 1), {"shrink_axis_mask": 5}),
            (i32(-1, 5, -9), i32(-4, 0, 9), i32(-1, -2, 1), {}),
            (
                i32(0, 0, 1, 0),
                i32(0, 0, 2, 0),
                i32(1, 1, 1, 1),
                {"new_axis_mask": 1, "ellipsis_mask": 2, "shrink_axis_mask": 4, "end_mask": 8},
            ),
            (i32(2), i32(3), i32(1), {"shrink_axis_mask": 1}),
            (i32(2, 0, 0), i32(1, 9, 9), i32(1, 1, 1), {}),
            (i32(1, 0, 1), i32(2, 4, 3), i32(1, 2, 2), {"offset": True}),
            (i32(-2, 1, 0), i32(1, 2, 5), i32(1, 1, 1), {"offset": True, "shrink_axis_mask": 1}),
        )
    ),
    case("STRIDED_SLICE", numbers(4, 5), i32(0, 1), i32(3, 4), const(i32(1, 2))),
    case("STRIDED_SLICE", numbers(4), const(i32(0)), const(i32(3)), const(i32(0)), fails=True),
    *(
        case("SPLIT", const(i32(axis)[0]), _counted(4, 6, kind=kind), num_splits=2, outputs=[out(name)] * 2)
        for axis in (0, 1, -1)
        for kind, name in (
            (np.float32, "FLOAT32"),
            (np.int32, "INT32"),
            (np.int8, "INT8"),
            (np.int16, "INT16"),
        )
    ),
    case("SPLIT", i32(1)[0], numbers(2, 6), num_splits=3, outputs=[out("FLOAT32")] * 3),
    case(
        "SPLIT",
        const(i32(1)),
        q(_counted(2, 4, kind=np.uint8), 0.5, 3),
        num_splits=2,
        outputs=[out("UINT8", 0.5, 3)] * 2,
    ),
    case("SPLIT", const(i32(0)[0]), numbers(5), num_splits=2, outputs=[out("FLOAT32")] * 2, fails=True),
    case(
        "SPLIT_V",
        numbers(2, 6),
        const(i32(1, 2, 3)),
        const(i32(1)[0]),
        num_splits=3,
        outputs=[out("FLOAT32")] * 3,
    ),
    case(
        "SPLIT_V",
        _counted(2, 6, kind=np.int16),
        const(i32(4, -1)),
        const(i32(-1)[0]),
        num_splits=2,
        outputs=[out("INT16")] * 2,
    ),
    case(
        "SPLIT_V",
        _counted(3, 2, kind=np.int64),
        const(i64(1, 0, 2)),
        const(i32(0)),
        num_splits=3,
        outputs=[out("INT64")] * 3,
    ),
    case("SPLIT_V", numbers(2, 6), i32(4, 2), i32(1)[0], num_splits=2, outputs=[out("FLOAT32")] * 2),
    case(
        "SPLIT_V",
        numbers(2, 6),
        const(i32(4, 3)),
        const(i32(1)[0]),
        num_splits=2,
        outputs=[out("FLOAT32")] * 2,
        fails=True,
    ),
    *(
        case(
            "UNPACK", _counted(2, 3, kind=kind), num=shape[axis], axis=axis, outputs=[out(name)] * shape[axis]
        )
        for axis, shape in ((0, (2, 3)), (1, (2, 3)), (-1, (2, 3)))
        for kind, name in (
            (np.float32, "FLOAT32"),
            (np.int32, "INT32"),
            (np.uint8, "UINT8"),
            (np.int8, "INT8"),
            (np.bool_, "BOOL"),
            (np.int16, "INT16"),
        )
    ),
    case("UNPACK", f32(1, 2), num=2, outputs=[out("FLOAT32")] * 2),
    case("UNPACK", q(i16(1, 2), 0.5), num=2, outputs=[out("INT16", 0.5)] * 2),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_slicing(c):
    check("slicing", c)
