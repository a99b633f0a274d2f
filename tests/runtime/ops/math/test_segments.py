import numpy as np
import pytest
from tests.runtime.cases import bf16, case, check, checks, f16, f32, i8, i32, i64, numbers, same_as, scalar

NAN = np.nan
SORTED = ("SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin")
UNSORTED = ("UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin")
PICKED = ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN")
NO_IDS = np.zeros(0, np.int32)


def every(ops, *inputs, **options):
    return [case(op, *inputs, **options) for op in ops]


CASES = [
    *every(SORTED, numbers(5, 3), i32(0, 0, 2, 2, 2)),
    *every(SORTED, i32(-1, 2, 5, 9), i64(1, 3, 3, 3)),
    *every(SORTED, i8(100, 100, -7), i32(1, 1, 3)),
    *every(SORTED, f16(1, 2, 4), i32(0, 0, 1)),
    *every(SORTED, bf16(1, 2, 4), i32(0, 0, 1)),
    *every(SORTED, numbers(0, 2), NO_IDS),
    *every(SORTED, numbers(6, 40), i32(0, 0, 0, 2, 3, 3)),
    *every(SORTED, numbers(3), i32(1, 0, 2), fails=True),
    *every(SORTED, numbers(3), i32(-1, 0, 2), fails=True),
    *every(SORTED, numbers(3), i32(0, 2), fails=True),
    case("SegmentMax", f32(-1, 2, NAN), i32(0, 2, 2)),
    *every(UNSORTED, numbers(5, 3), i32(2, 0, -1, 2, 0), scalar(4)),
    *every(UNSORTED, numbers(2, 2, 3), i64([2, 0], [0, 1]), scalar(3, np.int64)),
    *every(UNSORTED, i32(5, -3, 7), i32(1, 1, -1), scalar(3)),
    *every(UNSORTED, f16(5, -3, 7), i32(1, 1, -1), scalar(3)),
    *every(UNSORTED, bf16(5, -3, 7), i32(1, 1, -1), scalar(3)),
    *every(UNSORTED, numbers(0, 2), NO_IDS, scalar(2)),
    *every(UNSORTED, numbers(6, 5, 8), i32(-1, 0, 0, 3, 3, 3), scalar(5)),
    *every(UNSORTED, numbers(2, 2), i32(-1, -1), scalar(0)),
    *every(UNSORTED, numbers(2, 2), scalar(1), scalar(2)),
    *every(UNSORTED, f32(1, NAN, NAN, 1, 5), i32(0, 0, 1, 1, 2), scalar(3)),
    *every(UNSORTED, numbers(3), i32(0, 3, 1), scalar(3), fails=True),
    *every(UNSORTED, numbers(3), i32(0, 1), scalar(3), fails=True),
    *every(UNSORTED, numbers(3), i32(0, 1, 1), scalar(-1), fails=True),
    *every(PICKED, numbers(4, 3), i32(3, 1, 3, 0), i32(0, 0, 0, 2)),
    *every(PICKED, f16([1, 2], [3, 4]), i64(1, 1, 0), i64(0, 0, 1)),
    *every(PICKED, bf16([1, 2], [3, 4]), i32(1, 1, 0), i32(0, 0, 1)),
    *every(PICKED, numbers(4, 3), NO_IDS, NO_IDS),
    *every(PICKED, numbers(4, 3), i32(4), i32(0), fails=True),
    *every(PICKED, numbers(4, 3), i32(1, 1), i32(1, 0), fails=True),
    *every(PICKED, numbers(4, 3), i32(1, 1), i32(0), fails=True),
    *every(
        [f"{op}WithNumSegments" for op in PICKED], numbers(4, 3), i32(3, 1, 3, 0), i32(0, 0, 0, 2), scalar(5)
    ),
    *every([f"{op}WithNumSegments" for op in PICKED], numbers(4, 3), NO_IDS, NO_IDS, scalar(2)),
    *every(
        [f"{op}WithNumSegments" for op in PICKED], numbers(4, 3), i32(3, 1), i32(0, 2), scalar(2), fails=True
    ),
    *every([f"{op}Grad" for op in PICKED], numbers(2, 3), i32(3, 1, 3), i32(0, 0, 1), scalar(5)),
    *every([f"{op}Grad" for op in PICKED], numbers(2, 3), i32(3, 5, 3), i32(0, 0, 1), scalar(5), fails=True),
    *every([f"{op}GradV2" for op in PICKED], numbers(2, 3), i32(3, 1, 3), i32(0, 0, 1), scalar(5)),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_segments(c, ways):
    check("segments", c, ways)


@pytest.mark.parametrize("kind", ["Sum", "Prod", "Max", "Min"])
def test_segments_that_only_compiled_graphs_have(kind):
    inputs = numbers(5, 3), i32(0, 0, 2, 2, 3), scalar(5)
    same_as(case(f"Segment{kind}V2", *inputs), case(f"UnsortedSegment{kind}", *inputs))
