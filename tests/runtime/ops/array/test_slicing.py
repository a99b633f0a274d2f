from dataclasses import replace

import numpy as np
import pytest
from tests.runtime.cases import bf16, boolean, case, check, checks, graph_case, i32, i64, numbers, strings

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


def strided(begin, end, strides, x=X, op="StridedSlice", kind=np.int32, **masks):
    return case(op, x, *(np.array(bounds, kind) for bounds in (begin, end, strides)), **masks)


VARIABLE = """
v = VarHandleOp() {dtype=float32, shape=(2,3)}
start = Const() {dtype=float32, value=float32(2,3)[1,2,3, 4,5,6]}
init = AssignVariableOp(v, start) {dtype=float32}
b = Const(^init) {dtype=int32, value=int32(2,)[0, 1]}
e = Const() {dtype=int32, value=int32(2,)[0, 3]}
s = Const() {dtype=int32, value=int32(2,)[1, 1]}
u = Const() {dtype=float32, value=float32(2,2)[8, 9, 10, 11]}
write = ResourceStridedSliceAssign(v, b, e, s, u) {T=float32, Index=int32, end_mask=1}
y = ReadVariableOp(v, ^write) {dtype=float32}
"""
REF = """
v = VariableV2() {dtype=float32, shape=(3,)}
start = Const() {dtype=float32, value=float32(3,)[1,2,3]}
init = Assign(v, start) {T=float32}
b = Const() {dtype=int32, value=int32(1,)[1]}
e = Const() {dtype=int32, value=int32(1,)[3]}
s = Const() {dtype=int32, value=int32(1,)[1]}
u = Const() {dtype=float32, value=float32(2,)[8, 9]}
y = StridedSliceAssign(init, b, e, s, u) {T=float32, Index=int32}
"""
COUNTED = """
x = Placeholder() {dtype=float32, shape=(?, 3)}
like = Placeholder() {dtype=float32, shape=(?, 5)}
shape = Shape(like) {T=float32, out_type=int32}
first = Const() {dtype=int32, value=int32(1,)[0]}
second = Const() {dtype=int32, value=int32(1,)[1]}
rows = StridedSlice(shape, first, second, second) {T=int32, Index=int32, shrink_axis_mask=1}
columns = Const() {dtype=int32, value=int32()[COLUMNS]}
size = Pack(rows, columns) {T=int32, N=2}
begin = Const() {dtype=int32, value=int32(2,)[BEGIN, 1]}
y = Slice(x, begin, size) {T=float32, Index=int32}
"""
"""As many rows as another tensor has, which is known at run time."""


def counted(rows, wanted, begin=0, columns=2, **options):
    text = COUNTED.replace("BEGIN", str(begin)).replace("COLUMNS", str(columns))
    made = graph_case(text, fetches="y:0", name="Slice", x=numbers(rows, 3), like=numbers(wanted, 5))
    return replace(made, **options)


CASES = [
    counted(4, 3),
    counted(4, 4),
    counted(4, 0),
    counted(0, 0),
    counted(4, 5, fails=True),
    counted(4, 3, begin=1),
    counted(4, 3, begin=2, fails=True),
    counted(4, 0, begin=4),
    counted(4, 0, begin=5, fails=True),
    counted(4, 2, columns=0),
    counted(4, 5, columns=0, fails=True),
    counted(4, 2, columns=3, fails=True),
    counted(4, 0, columns=3, fails=True),
    case("Slice", X, i32(1, 0, 2), i32(2, -1, 3)),
    case("Slice", X, i64(0, 0, 0), i64(-1, -1, -1)),
    case("Slice", X, i32(3, 4, 0), i32(-1, 0, 5)),
    case("Slice", X, i32(3, 4, 0), i32(0, -1, 0)),
    case("Slice", numbers(), np.zeros(0, np.int32), np.zeros(0, np.int32)),
    case("Slice", strings("a", "b", "c"), i32(1), i32(2)),
    case("Slice", boolean(True, False), i32(1), i32(1)),
    case("Slice", bf16(1, 2), i32(1), i32(1)),
    case("Slice", X, i32(0, 0, 0), i32(4, 1, 1), fails=True),
    case("Slice", X, i32(2, 0, 0), i32(2, 1, 1), fails=True),
    case("Slice", X, i32(4, 0, 0), i32(-1, 1, 1), fails=True),
    case("Slice", X, i32(-1, 0, 0), i32(1, 1, 1), fails=True),
    case("Slice", X, i32(0, 0, 0), i32(-2, 1, 1), fails=True),
    case("Slice", X, i32(0, 0), i32(1, 1), fails=True),
    strided([1], [3], [1]),
    strided([0, 1, 1], [3, -1, 4], [2, 1, 2]),
    strided([-1, 3], [-4, 0], [-1, -2]),
    strided([-1, 3], [-100, -100], [-1, -2]),
    strided([100, 100], [-100, 0], [-1, -1]),
    strided([-100, -100], [100, 100], [1, 3]),
    strided([-4, -5], [-9, -9], [-1, -1]),
    strided([-3, -4], [-9, -9], [-1, -1]),
    strided([2], [1], [1]),
    strided([0, 9], [0, 9], [1, 1], begin_mask=1, end_mask=1),
    strided([9, 9], [9, 9], [-1, -2], begin_mask=3, end_mask=3),
    strided([9, 1], [2, 9], [1, 1], begin_mask=1, end_mask=2),
    strided([0, 1], [0, 3], [1, 1], ellipsis_mask=1),
    strided([1, 0, 2], [2, 0, 3], [1, 1, 1], ellipsis_mask=2),
    strided([1, 0], [3, 0], [1, 1], ellipsis_mask=2),
    strided([1, 0, 0, 2], [2, 0, 9, 3], [1, 1, 1, 1], ellipsis_mask=2, new_axis_mask=4),
    strided([0, 1, 0], [0, 2, 0], [1, 1, 1], new_axis_mask=5),
    strided([0, 0, 0], [0, 0, 0], [1, 1, 1], ellipsis_mask=1, new_axis_mask=6),
    strided([1], [2], [1], shrink_axis_mask=1),
    strided([-1, 2], [0, 3], [1, 1], shrink_axis_mask=3),
    strided([-1, 1, -5], [0, 3, 0], [1, 1, 1], shrink_axis_mask=5),
    strided([2, 0], [3, 4], [1, 1], begin_mask=1, shrink_axis_mask=1, end_mask=2),
    strided([0, -1], [0, 0], [1, 1], ellipsis_mask=1, shrink_axis_mask=2),
    strided([1, 0], [3, 4], [1, 1], shrink_axis_mask=1, new_axis_mask=1),
    strided([1, 0], [3, 4], [2, 1], shrink_axis_mask=1),
    strided([0], [2], [1], x=numbers(0, 3)),
    strided([], [], []),
    strided([0], [2], [1], kind=np.int64),
    strided([0], [2], [1], x=strings("a", "b", "c")),
    strided([1], [2], [1], x=strings("a", "b", "c"), shrink_axis_mask=1),
    strided([1], [2], [1], x=i32(5, 6, 7), shrink_axis_mask=1),
    strided([2], [0], [-1], x=boolean(True, False, False), end_mask=1),
    strided([0], [2], [1], x=numbers(3).astype(np.complex64)),
    strided([2], [9], [1], shrink_axis_mask=1),
    case("StridedSlice", X, i32(3), i32(4), i32(1), shrink_axis_mask=1, fails=True),
    case("StridedSlice", X, i32(-4), i32(4), i32(1), shrink_axis_mask=1, fails=True),
    case("StridedSlice", numbers(0, 2), i32(-1), i32(0), i32(1), shrink_axis_mask=1, fails=True),
    case("StridedSlice", X, i32(1), i32(4), i32(-1), shrink_axis_mask=1, fails=True),
    case("StridedSlice", X, i32(1), i32(4), i32(0), fails=True),
    case("StridedSlice", X, i32(1, 1), i32(4, 1), i32(1, 1), ellipsis_mask=3, fails=True),
    case("StridedSlice", X, i32(0, 0, 0, 0), i32(1, 1, 1, 1), i32(1, 1, 1, 1), fails=True),
    case("StridedSlice", X, i32(0, 0), i32(1), i32(1), fails=True),
    case("StridedSliceGrad", i32(4, 3), i32(3, 1), i32(0, 2), i32(-2, 1), numbers(2), shrink_axis_mask=2),
    case("StridedSliceGrad", i64(4), i64(0, 1), i64(0, 3), i64(1, 1), numbers(1, 2), new_axis_mask=1),
    case("StridedSliceGrad", i32(4), i32(1), i32(3), i32(1), numbers(3), fails=True),
    case("TensorStridedSliceUpdate", numbers(4, 3), i32(3, 1), i32(0, 2), i32(-2, 1), numbers(2, seed=3),
         shrink_axis_mask=2),
    case("TensorStridedSliceUpdate", i32(1, 2, 3), i32(1), i32(3), i32(1), i32(8, 9)),
    case("TensorStridedSliceUpdate", i32(1, 2, 3), i32(1), i32(3), i32(1), np.array(8, np.int32)),
    case("TensorStridedSliceUpdate", strings("a", "b"), i32(1), i32(2), i32(1), strings("c")),
    case("TensorStridedSliceUpdate", i32(1, 2, 3), i32(1), i32(3), i32(1), i32(8, 9, 9), fails=True),
    case("TensorStridedSliceUpdate", i32(1, 2, 3), i32(1), i32(3), i32(1), i32(8)),
    case("TensorStridedSliceUpdate", numbers(2, 3), i32(0, 0), i32(2, 3), i32(1, 1), numbers(2, 1)),
    case("TensorStridedSliceUpdate", numbers(2, 3), i32(0, 0), i32(2, 3), i32(1, 1), numbers(3)),
    graph_case(VARIABLE, fetches="y:0"),
    graph_case(REF, fetches="y:0"),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_slicing(c, ways):
    check("slicing", c, ways)
