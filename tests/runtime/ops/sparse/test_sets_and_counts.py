import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f32, f64, i32, i64, strings

SETS = (i64([0, 0], [0, 1], [1, 0], [2, 0], [2, 1], [2, 3]), i32(5, 3, 9, 1, 1, 2), i64(3, 4))
OTHERS = (i64([0, 0], [1, 0], [1, 1], [2, 0]), i32(3, 9, 4, 7), i64(3, 2))
FEWER = (i64([0, 0], [1, 0]), i32(3, 9), i64(2, 2))
WORDS = (SETS[0], strings("b", "a", "c", "z", "z", "y"), SETS[2])
OTHER_WORDS = (OTHERS[0], strings("a", "c", "d", "x"), OTHERS[2])
EMPTY = (np.zeros((0, 2), np.int64), i32(), i64(3, 4))
UNSORTED = (i64([1, 0], [0, 0]), i32(3, 9), i64(3, 2))
OPERATIONS = ("a-b", "b-a", "intersection", "union")
DENSE, OTHER_DENSE = i32([5, 3, 3], [9, 9, 9], [1, 2, 1]), i32([3, 4], [9, 1], [7, 7])
NO_WEIGHTS, F = f32(), np.float32

CASES = [
    *(case("SparseToSparseSetOperation", *SETS, *OTHERS, set_operation=op) for op in OPERATIONS),
    *(case("SparseToSparseSetOperation", *WORDS, *OTHER_WORDS, set_operation=op) for op in OPERATIONS),
    *(case("DenseToSparseSetOperation", DENSE, *OTHERS, set_operation=op) for op in OPERATIONS),
    *(case("DenseToDenseSetOperation", DENSE, OTHER_DENSE, set_operation=op) for op in OPERATIONS),
    *(
        case("DenseToDenseSetOperation", DENSE.astype(kind), OTHER_DENSE.astype(kind), set_operation="union")
        for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int64)
    ),
    case("DenseToDenseSetOperation", i32([[1, 2], [3, 4]]), i32([[2], [5]]), set_operation="union"),
    case("DenseToDenseSetOperation", i32([[1, 2], [3, 4]]), i32([[2], [5]]), set_operation="intersection"),
    case("DenseToDenseSetOperation", i32([1], [2]), i32([3], [4]), set_operation="intersection"),
    case("DenseToDenseSetOperation", np.zeros((2, 0), np.int32), i32([3], [4]), set_operation="union"),
    case(
        "DenseToDenseSetOperation",
        np.zeros((0, 2), np.int32),
        np.zeros((0, 3), np.int32),
        set_operation="union",
    ),
    case("DenseToDenseSetOperation", i32([1], [2]), i32([3]), set_operation="union", fails=True),
    case("DenseToDenseSetOperation", i32(1, 2), i32(3, 4), set_operation="union", fails=True),
    case("SparseToSparseSetOperation", *SETS, *EMPTY, set_operation="union"),
    case("SparseToSparseSetOperation", *EMPTY, *EMPTY, set_operation="union"),
    case("SparseToSparseSetOperation", *SETS, *FEWER, set_operation="union", fails=True),
    case("SparseToSparseSetOperation", *SETS, *UNSORTED, set_operation="union", fails=True),
    case("DenseToSparseSetOperation", DENSE, *UNSORTED, set_operation="union", fails=True),
    case("SetSize", *SETS),
    case("SetSize", *WORDS),
    case("SetSize", *EMPTY),
    case("SetSize", i64([0, 1, 0], [1, 1, 0], [1, 1, 1]), i64(1, 2, 2), i64(2, 2, 2)),
    case("SetSize", *UNSORTED, fails=True),
    case("SparseBincount", SETS[0], SETS[1], SETS[2], i32(10)[0], NO_WEIGHTS),
    case("SparseBincount", SETS[0], SETS[1], SETS[2], i32(4)[0], NO_WEIGHTS, binary_output=True),
    case("SparseBincount", SETS[0], SETS[1], SETS[2], i32(6)[0], f32(1, 2, 3, 4, 5, 6)),
    case("SparseBincount", i64([0], [2]), i64(1, 1), i64(4), i64(3)[0], f64()),
    case("SparseBincount", i64([0], [2]), i64(1, 1), i64(4), i64(3)[0], i32(5, 6)),
    case("SparseBincount", *EMPTY, i32(2)[0], NO_WEIGHTS),
    case("SparseBincount", i64([0], [2]), i64(1, -1), i64(4), i64(3)[0], f64(), fails=True),
    case("SparseBincount", i64([0], [4]), i64(1, 1), i64(4), i64(3)[0], f64(), fails=True),
    case("RaggedBincount", i64(0, 2, 2, 5), i32(1, 1, 0, 2, 9), i32(3)[0], NO_WEIGHTS),
    case("RaggedBincount", i64(0, 2, 2, 5), i32(1, 1, 0, 2, 9), i32(3)[0], NO_WEIGHTS, binary_output=True),
    case("RaggedBincount", i64(0, 2, 2, 5), i64(1, 1, 0, 2, 2), i64(3)[0], i64(1, 2, 3, 4, 5)),
    case("RaggedBincount", i64(0), i64(), i64(3)[0], i64()),
    case("RaggedBincount", i64(1, 2, 5), i32(1, 1, 0, 2, 9), i32(3)[0], NO_WEIGHTS, fails=True),
    *(
        case("DenseCountSparseOutput", values, weights, binary_output=binary, **lengths)
        for values, weights in [
            (i32(1, 5, 1, 0), NO_WEIGHTS),
            (i64([1, 5], [1, 1]), np.zeros((0, 0), np.int64)),
            (i32([1, 5], [1, 1]), f32([0.5, 1], [2, 3])),
        ]
        for binary in (False, True)
        for lengths in ({}, {"minlength": 9}, {"maxlength": 3}, {"minlength": 2, "maxlength": 8})
    ),
    case("DenseCountSparseOutput", i32(), NO_WEIGHTS, binary_output=False),
    case("DenseCountSparseOutput", i32(1), NO_WEIGHTS, binary_output=False, maxlength=0),
    case("DenseCountSparseOutput", np.zeros((2, 0), np.int32), np.zeros((2, 0), F), binary_output=False),
    case("DenseCountSparseOutput", i32(-1), NO_WEIGHTS, binary_output=False, fails=True),
    case("DenseCountSparseOutput", i32(1, 2), f32(1), binary_output=False, fails=True),
    case("DenseCountSparseOutput", i32([[1]]), NO_WEIGHTS, binary_output=False, fails=True),
    case("SparseCountSparseOutput", *SETS, NO_WEIGHTS, binary_output=False),
    case("SparseCountSparseOutput", *SETS, f32(1, 2, 3, 4, 5, 6), binary_output=False, minlength=20),
    case("SparseCountSparseOutput", *SETS, i32(), binary_output=True, maxlength=4),
    case("SparseCountSparseOutput", *EMPTY, NO_WEIGHTS, binary_output=False),
    case("SparseCountSparseOutput", i64([0], [2]), i64(1, 1), i64(4), f64(), binary_output=False),
    case("SparseCountSparseOutput", i64([0], [9]), i64(1, 1), i64(4), f64(), binary_output=False, fails=True),
    case("RaggedCountSparseOutput", i64(0, 2, 2, 5), i32(1, 1, 0, 2, 9), NO_WEIGHTS, binary_output=False),
    case(
        "RaggedCountSparseOutput", i64(0, 2, 5), i64(1, 1, 0, 2, 2), i64(1, 2, 3, 4, 5), binary_output=False
    ),
    case("RaggedCountSparseOutput", i64(0, 2, 5), i64(1, 1, 0, 2, 2), i64(), binary_output=True),
    case("RaggedCountSparseOutput", i64(0, 2), i64(1, 1, 0), i64(), binary_output=True, fails=True),
    case("RaggedCountSparseOutput", i64(), i64(1), i64(), binary_output=True, fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_sets_and_counts(c, ways):
    check("sets_and_counts", c, ways)
