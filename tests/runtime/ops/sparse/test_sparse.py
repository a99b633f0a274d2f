import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    c64,
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
    scalar,
    strings,
    wrapped,
)  # fmt: skip

IND = i64([0, 1], [1, 0], [1, 3], [3, 2])
VAL = f32(1.5, -2, 3, 4)
SHAPE = i64(4, 4)
A = (IND, VAL, SHAPE)
B = (i64([0, 0], [1, 0], [3, 3]), f32(10, 2, 30), SHAPE)
EMPTY = (np.zeros((0, 2), np.int64), f32(), i64(3, 4))
NO_ROWS = (np.zeros((0, 2), np.int64), f32(), i64(0, 4))
CUBE = (i64([0, 0, 1], [0, 2, 0], [1, 1, 1], [1, 1, 2]), f32(1, 2, -3, 4), i64(2, 3, 4))
UNSORTED = (i64([1, 3], [0, 1], [3, 2], [1, 0]), f32(1, 2, 3, 4), SHAPE)
WIDE = (i64([0, 5], [0, 1], [1, 9], [1, 0]), f32(1, 2, 3, 4), i64(2, 10))
NAN = (IND, f32(np.nan, np.inf, -np.inf, 0), SHAPE)


def dense(indices, shape, values, default, **options):
    return case("SparseToDense", indices, shape, values, default, **options)


def of(parts, kind):
    return parts[0], wrapped(parts[1], kind), parts[2]


CASES = [
    dense(IND, SHAPE, VAL, np.float32(-1)),
    dense(IND.astype(np.int32), i32(4, 4), VAL, np.float32(-1)),
    dense(IND, SHAPE, np.float32(7), np.float32(0)),
    dense(i32(1, 3), i32(5), i32(10, 20), scalar(0)),
    dense(scalar(2), i32(5), scalar(9), scalar(0)),
    dense(i64(0, 2), i64(3), strings("a", "b"), strings("-").reshape(())),
    dense(i64(1), i64(3), np.array([True]), np.array(False)),
    dense(i64(1, 1), i64(3), f32(1, 2), np.float32(0), fails=True),
    dense(i64(1, 1), i64(3), f32(1, 2), np.float32(0), validate_indices=False),
    dense(i64(2, 1), i64(3), f32(1, 2), np.float32(0), fails=True),
    dense(i64(2, 1), i64(3), f32(1, 2), np.float32(0), validate_indices=False),
    dense(i64(1, 3), i64(3), f32(1, 2), np.float32(0), fails=True),
    dense(i64(1, 3), i64(3), f32(1, 2), np.float32(0), validate_indices=False, fails=True),
    dense(i64(1, -1), i64(3), f32(1, 2), np.float32(0), validate_indices=False, fails=True),
    dense(np.zeros((0, 2), np.int64), i64(2, 2), f32(), np.float32(3)),
    dense(np.zeros((0, 2), np.int64), i64(0, 2), f32(), np.float32(3)),
    dense(i64([0, 0]), i64(3), f32(1), np.float32(0), fails=True),
    dense(i64(0, 1), i64(3), f32(1, 2, 3), np.float32(0), fails=True),
    case("SparseTensorDenseAdd", *A, numbers(4, 4)),
    case("SparseTensorDenseAdd", IND.astype(np.int32), VAL, i32(4, 4), numbers(4, 4)),
    case("SparseTensorDenseAdd", i64([0], [0]), i32(1, 2), i64(2), i32(5, 6)),
    case("SparseTensorDenseAdd", *of(A, np.float64), numbers(4, 4, kind=np.float64)),
    case("SparseTensorDenseAdd", *A, numbers(4, 1), fails=True),
    case("SparseTensorDenseAdd", i64([0, 4]), f32(1), SHAPE, numbers(4, 4), fails=True),
    case("SparseTensorDenseMatMul", *A, numbers(4, 3)),
    case("SparseTensorDenseMatMul", *NO_ROWS, numbers(4, 3)),
    case("SparseTensorDenseMatMul", *NO_ROWS, numbers(0, 3), adjoint_a=True),
    case("SparseTensorDenseMatMul", *A, numbers(3, 4), adjoint_b=True),
    case("SparseTensorDenseMatMul", *WIDE, numbers(2, 3), adjoint_a=True),
    case("SparseTensorDenseMatMul", IND.astype(np.int32), VAL, SHAPE, numbers(4, 1)),
    case("SparseTensorDenseMatMul", *of(A, np.float64), numbers(4, 3, kind=np.float64)),
    case("SparseTensorDenseMatMul", *of(A, np.int32), numbers(4, 3, kind=np.int32)),
    case(
        "SparseTensorDenseMatMul",
        IND,
        c64(1, 2j, 3, 1 - 1j),
        SHAPE,
        c64([1j], [2], [3], [1 + 1j]),
        adjoint_a=True,
    ),
    case("SparseTensorDenseMatMul", IND, bf16(1, 2, 3, 4), SHAPE, bf16([1], [2], [3], [4])),
    case("SparseTensorDenseMatMul", *EMPTY, numbers(4, 2)),
    case("SparseTensorDenseMatMul", *A, numbers(4, 0)),
    case("SparseTensorDenseMatMul", *NAN, numbers(4, 2)),
    case("SparseTensorDenseMatMul", *A, numbers(3, 3), fails=True),
    case("SparseTensorDenseMatMul", i64([0, 4]), f32(1), SHAPE, numbers(4, 4), fails=True),
    case("SparseTensorDenseMatMul", *CUBE, numbers(4, 4), fails=True),
    *(case(f"SparseDenseCwise{op}", *A, numbers(4, 4)) for op in ("Add", "Mul", "Div")),
    *(case(f"SparseDenseCwise{op}", *CUBE, numbers(3, 1)) for op in ("Add", "Mul", "Div")),
    *(case(f"SparseDenseCwise{op}", *CUBE, np.float32(2)) for op in ("Add", "Mul", "Div")),
    case("SparseDenseCwiseDiv", IND, i32(7, -7, 8, -8), SHAPE, i32([2, 2, 3, 3])),
    case("SparseDenseCwiseDiv", *A, np.zeros((4, 4), np.float32), fails=True),
    case("SparseDenseCwiseMul", IND, f64(1, 2, 3, 4), SHAPE, numbers(1, 4, kind=np.float64)),
    case("SparseDenseCwiseMul", *EMPTY, numbers(4)),
    case("SparseDenseCwiseMul", *A, numbers(3), fails=True),
    case("SparseDenseCwiseMul", *A, numbers(1, 4, 4), fails=True),
    case("SparseReshape", IND, SHAPE, i64(16)),
    case("SparseReshape", IND, SHAPE, i64(2, -1, 2)),
    case("SparseReshape", IND, SHAPE, i64(2, 8)),
    case("SparseReshape", CUBE[0], CUBE[2], i64(-1, 6)),
    case("SparseReshape", EMPTY[0], EMPTY[2], i64(2, -1)),
    case("SparseReshape", EMPTY[0], i64(0, 4), i64(0, 7)),
    case("SparseReshape", EMPTY[0], i64(0, 4), i64(-1, 4)),
    case("SparseReshape", EMPTY[0], i64(0, 4), i64(-1, 0), fails=True),
    case("SparseReshape", IND, SHAPE, i64(3, -1), fails=True),
    case("SparseReshape", IND, SHAPE, i64(-1, -1), fails=True),
    case("SparseReshape", IND, SHAPE, i64(-2, 8), fails=True),
    case("SparseReshape", IND, SHAPE, i64(5, 4), fails=True),
    case("SparseReorder", *UNSORTED),
    case("SparseReorder", UNSORTED[0], strings("a", "b", "c", "d"), SHAPE),
    case("SparseReorder", *EMPTY),
    case("SparseReorder", i64([4, 0], [3, 9]), f32(1, 2), SHAPE),
    case("SparseConcat", [A[0], B[0]], [A[1], B[1]], [SHAPE, SHAPE], concat_dim=0),
    case("SparseConcat", [A[0], B[0]], [A[1], B[1]], [SHAPE, SHAPE], concat_dim=1),
    case("SparseConcat", [A[0], EMPTY[0]], [A[1], EMPTY[1]], [SHAPE, EMPTY[2]], concat_dim=-2),
    case("SparseConcat", [UNSORTED[0], B[0]], [UNSORTED[1], B[1]], [SHAPE, SHAPE], concat_dim=-1),
    case("SparseConcat", [A[0], B[0]], [strings(*"abcd"), strings(*"xyz")], [SHAPE, SHAPE], concat_dim=1),
    case("SparseConcat", [A[0], EMPTY[0]], [A[1], EMPTY[1]], [SHAPE, EMPTY[2]], concat_dim=1, fails=True),
    case("SparseConcat", [A[0], B[0]], [A[1], B[1]], [SHAPE, SHAPE], concat_dim=2, fails=True),
    case("SparseSplit", np.int64(1), *A, num_split=2),
    case("SparseSplit", np.int64(1), *WIDE, num_split=3),
    case("SparseSplit", np.int64(0), *A, num_split=1),
    case("SparseSplit", np.int64(-1), *A, num_split=4),
    case("SparseSplit", np.int64(0), *A, num_split=5, fails=True),
    case("SparseSplit", np.int64(2), *A, num_split=2, fails=True),
    case("SparseSlice", *A, i64(0, 0), i64(2, 3)),
    case("SparseSlice", *A, i64(1, 1), i64(9, 9)),
    case("SparseSlice", *CUBE, i64(1, 1, 1), i64(1, 1, 1)),
    case("SparseSlice", *A, i64(9, 0), i64(1, 1)),
    case("SparseSlice", *EMPTY, i64(0, 0), i64(2, 3)),
    case("SparseSlice", IND, strings(*"abcd"), SHAPE, i64(1, 0), i64(1, 4)),
    case("SparseSlice", *A, i64(0), i64(2, 3), fails=True),
    case("SparseSliceGrad", f32(5, 6), IND, i64(1, 0), i64([0, 0], [0, 3])),
    case("SparseFillEmptyRows", *A, np.float32(-1)),
    case("SparseFillEmptyRows", *UNSORTED, np.float32(-1)),
    case("SparseFillEmptyRows", IND, strings(*"abcd"), i64(6, 4), strings("-").reshape(())),
    case("SparseFillEmptyRows", *CUBE, np.float32(9)),
    case("SparseFillEmptyRows", *EMPTY, np.float32(9)),
    case("SparseFillEmptyRows", EMPTY[0], EMPTY[1], i64(0, 4), np.float32(9)),
    case("SparseFillEmptyRows", IND, i64(1, 2, 3, 4), i64(3, 4), np.int64(0), fails=True),
    case("SparseFillEmptyRows", IND, VAL, i64(0, 4), np.float32(0), fails=True),
    case("SparseFillEmptyRows", IND, VAL, SHAPE, f32(0), fails=True),
    case("RaggedFillEmptyRows", i64(0, 0, 2), f32(1, 2, 3), np.int64(5), np.float32(-1)),
    case("RaggedFillEmptyRows", i64(), f32(), np.int64(2), np.float32(-1)),
    case("RaggedFillEmptyRows", i64(0, 5), f32(1, 2), np.int64(2), np.float32(-1), fails=True),
    case("SparseFillEmptyRowsGrad", i64(0, 2, 3), f32(1, 2, 3, 4, 5)),
    case("SparseFillEmptyRowsGrad", i64(), f32(1, 2)),
    case("SparseFillEmptyRowsGrad", i64(5), f32(1, 2), fails=True),
    case("RaggedFillEmptyRowsGrad", i64(0, 2), f32(1, 2, 3, 4)),
    case("SparseAdd", *A, *B, np.float32(0)),
    case("SparseAdd", *A, *B, np.float32(2)),
    case("SparseAdd", *NAN, *B, np.float32(0)),
    case("SparseAdd", *of(A, np.int32), *of(B, np.int32), scalar(1)),
    case("SparseAdd", IND, i8(1, 2, 3, 127), SHAPE, i64([3, 2]), i8(1), SHAPE, np.int8(0)),
    case("SparseAdd", IND, c64(1, 2, 3j, 4), SHAPE, IND, c64(1, -2, 1, 4), SHAPE, np.float32(1)),
    case("SparseAdd", *A, EMPTY[0], EMPTY[1], SHAPE, np.float32(0)),
    case("SparseAdd", *UNSORTED, *B, np.float32(0)),
    case("SparseAdd", *A, *EMPTY, np.float32(0), fails=True),
    case("SparseAdd", *A, *B, f32(0), fails=True),
    case("SparseAddGrad", f32(1, 2, 3), IND, B[0], i64([0, 1], [1, 0], [3, 3])),
    *(case(f"SparseSparse{op}", *A, *B) for op in ("Maximum", "Minimum")),
    *(case(f"SparseSparse{op}", *of(A, np.int64), *of(B, np.int64)) for op in ("Maximum", "Minimum")),
    case("SparseSparseMaximum", *A, *EMPTY, fails=True),
    *(
        case(f"SparseReduce{op}", *parts, np.array(axes, np.int32), keep_dims=keep)
        for op in ("Sum", "Max", "SumSparse", "MaxSparse")
        for parts, axes, keep in [
            (A, [1], False),
            (A, [0, 1], False),
            (A, -1, True),
            (CUBE, [0, 2], False),
            (CUBE, [1], True),
            (A, [], False),
            (EMPTY, [1], False),
            (EMPTY, [0, 1], True),
            (UNSORTED, [0], False),
            (A, [0, 0], False),
        ]
    ),
    case("SparseReduceSum", *of(CUBE, np.int64), i32(1)),
    case("SparseReduceSum", IND, f16(1, 2, 3, 4), SHAPE, i32(1)),
    case("SparseReduceMax", *of(A, np.uint8), i32(1)),
    case("SparseReduceSum", *A, i32(2), fails=True),
    case("SparseSoftmax", *A),
    case("SparseSoftmax", *CUBE),
    case("SparseSoftmax", *of(CUBE, np.float64)),
    case("SparseSoftmax", IND, f16(1, 2, 3, 4), SHAPE),
    case("SparseSoftmax", *EMPTY),
    case("SparseSoftmax", i64([0], [1]), f32(1, 2), i64(3), fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_sparse(c, ways):
    check("sparse", c, ways)
