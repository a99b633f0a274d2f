import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    boolean,
    case,
    check,
    checks,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    numbers,
    same_as,
    scalar,
    strings,
    u8,
)

from tfport.graph.dtypes import INT64, DType

NAN = np.nan
NO_AXIS = np.zeros(0, np.int64)
TABLE = i32([1, 1, 2], [3, 3, 4], [1, 1, 2])

CASES = [
    case("Unique", i32(5, 3, 5, 1, 3)),
    case("Unique", strings("b", "a", "b"), out_idx=INT64),
    case("Unique", f32(NAN, 1, NAN, 0, -0.0)),
    case("Unique", bf16(3, 1, 3)),
    case("Unique", boolean(True, False, True)),
    case("Unique", np.zeros(0, np.int32)),
    case("Unique", i32([1], [2]), fails=True),
    case("UniqueWithCounts", i64(5, 3, 5, 1, 3)),
    case("UniqueWithCounts", strings("b", "a", "b")),
    case("UniqueV2", TABLE, i64(0)),
    case("UniqueV2", TABLE, i32(1)),
    case("UniqueV2", i32(5, 3, 5), NO_AXIS),
    case("UniqueV2", f32([NAN, 1], [NAN, 1], [0, 1], [-0.0, 1]), i64(0)),
    case("UniqueV2", strings(["a", "b"], ["a", "c"], ["a", "b"]), i64(0)),
    case("UniqueV2", numbers(0, 2), i64(0)),
    case("UniqueV2", TABLE, NO_AXIS, fails=True),
    case("UniqueWithCountsV2", TABLE, i64(-1)),
    case("UniqueWithCountsV2", TABLE, i64(0)),
    case("ListDiff", i32(1, 2, 3, 2, 5), i32(2, 9)),
    case("ListDiff", f32(NAN, 1, 2), f32(NAN, 2), out_idx=INT64),
    case("ListDiff", strings("a", "b", "a"), strings("b")),
    case("ListDiff", bf16(1, 2), bf16(2)),
    case("ListDiff", np.zeros(0, np.int32), i32(2)),
    case("TopKV2", numbers(2, 3, 6), scalar(2)),
    case("ApproxTopK", numbers(2, 3, 6), k=2, sized="f"),
    case("ApproxTopK", f16(1, 3, 3, 2), k=3, recall_target=0.5, sized="f"),
    case("ApproxTopK", f32(1, 3), k=3, fails=True, sized="f"),
    case("TopKV2", f32(1, 3, 3, 2, 3, 1), scalar(4), index_type=INT64),
    case("TopKV2", f32(1, 3, 3, 2), scalar(2, np.int16), index_type=DType.parse("int16")),
    case("TopKV2", i8(1, -128, 127, 2), scalar(3)),
    case("TopKV2", u8(1, 0, 255, 2), scalar(4)),
    case("TopKV2", i64(1, -(2**63), 2**63 - 1, 2), scalar(4)),
    case("TopKV2", f16(1, 3, 2), scalar(2)),
    case("TopKV2", bf16(1, 3, 2), scalar(2)),
    case("TopKV2", f64(1, np.inf, -np.inf), scalar(3)),
    case("TopKV2", f32(1, 9, 3, 7), scalar(1), sorted=False),
    case("TopKV2", f32(1, 9, 3, 7), scalar(0)),
    case("TopKV2", numbers(0, 3), scalar(2)),
    case("TopKV2", f32(1, 9), scalar(3), fails=True),
    case("TopKV2", f32(1, 9), scalar(-1), fails=True),
    case("NthElement", numbers(2, 6), scalar(2)),
    case("NthElement", i32([1, 9, 4], [3, 1, 2]), scalar(1), reverse=True),
    case("NthElement", bf16(3, 1, 2), scalar(0)),
    case("NthElement", numbers(2, 3), scalar(3), fails=True),
    case("LowerBound", i32([1, 3, 3, 5], [0, 1, 2, 3]), i32([0, 3, 6], [2, 2, 9])),
    *(case(op, f32([1, 3, 3, 5]), f32([np.nan, 3, np.inf])) for op in ("LowerBound", "UpperBound")),
    case("UpperBound", f32([1, 3, 3, 5], [0, 1, 2, 3]), f32([0, 3, 6], [2, 2, 9]), out_type=INT64),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_ordering(c, ways):
    check("ordering", c, ways)


def test_the_top_k_of_old_graphs():
    same_as(case("TopK", numbers(2, 6), k=3), case("TopKV2", numbers(2, 6), scalar(3)))
