"""Images of another size, and blocks that move between axes."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, q
from tests.runtime.cases import i32, numbers

WAYS = ({}, {"align_corners": True}, {"half_pixel_centers": True})
NO_PADS = np.zeros((2, 2), np.int32)
CASES = [
    *(
        case(op, numbers(2, 3, 5, 2), const(i32(*size)), version=3, **way)
        for op in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
        for size in ((6, 10), (2, 3), (7, 4), (1, 1), (3, 5), (9, 1))
        for way in WAYS
    ),
    case("RESIZE_BILINEAR", numbers(2, 3, 5, 2), i32(4, 4)),
    case("RESIZE_NEAREST_NEIGHBOR", np.arange(8, dtype=np.uint8).reshape(1, 2, 4, 1), const(i32(3, 3))),
    case("RESIZE_NEAREST_NEIGHBOR", np.arange(8, dtype=np.int8).reshape(1, 2, 4, 1), const(i32(3, 3))),
    case("SPACE_TO_BATCH_ND", numbers(1, 4, 4, 2), const(i32(2, 2)), const(NO_PADS)),
    case("SPACE_TO_BATCH_ND", numbers(2, 5, 2, 1), const(i32(3, 2)), const(i32(1, 0, 2, 0).reshape(2, 2))),
    case("SPACE_TO_BATCH_ND", numbers(1, 4, 3), const(i32(2)), const(i32(0, 2).reshape(1, 2))),
    case("SPACE_TO_BATCH_ND", numbers(1, 4, 4, 2), i32(2, 2), NO_PADS),
    case("SPACE_TO_BATCH_ND", numbers(1, 5, 4, 2), const(i32(2, 2)), const(NO_PADS), fails=True),
    *(
        case("SPACE_TO_BATCH_ND", q(np.arange(20).reshape(2, 5, 2, 1).astype(kind), 0.5, zero), *sizes)
        for kind, zero in ((np.int8, -7), (np.uint8, 130), (np.int16, 0), (np.int8, 0))
        for sizes in (
            (const(i32(3, 2)), const(i32(1, 0, 2, 0).reshape(2, 2))),
            (const(i32(2, 1)), const(i32(0, 1, 0, 0).reshape(2, 2))),
            (i32(3, 2), i32(1, 0, 2, 0).reshape(2, 2)),
        )
    ),
    case(
        "SPACE_TO_BATCH_ND",
        q(np.arange(8).reshape(2, 4, 1).astype(np.int8), 0.5, 3),
        const(i32(2)),
        const(i32(0, 2).reshape(1, 2)),
    ),
    case("BATCH_TO_SPACE_ND", numbers(4, 2, 2, 1), const(i32(2, 2)), const(NO_PADS)),
    case("BATCH_TO_SPACE_ND", numbers(8, 1, 3, 1), const(i32(2, 2)), const(i32(0, 0, 2, 0).reshape(2, 2))),
    case("BATCH_TO_SPACE_ND", numbers(4, 2, 3), const(i32(2)), const(i32(1, 0).reshape(1, 2))),
    *(case("SPACE_TO_DEPTH", numbers(2, 4, 6, 3), block_size=size) for size in (1, 2)),
    *(case("DEPTH_TO_SPACE", numbers(2, 2, 3, 8), block_size=size) for size in (1, 2)),
    case("SPACE_TO_DEPTH", np.arange(16).reshape(1, 4, 4, 1), block_size=2),
    case("DEPTH_TO_SPACE", np.arange(16, dtype=np.int32).reshape(1, 2, 2, 4), block_size=2),
    case("SPACE_TO_DEPTH", numbers(1, 3, 4, 1), block_size=2, fails=True),
]  # fmt: skip


@pytest.mark.parametrize("c", checks(CASES))
def test_resizing(c):
    check("resizing", c)
