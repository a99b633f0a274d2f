import numpy as np
import pytest
from tests.runtime.cases import (
    bf16,
    boolean,
    c64,
    case,
    check,
    checks,
    f16,
    graph_case,
    i8,
    i16,
    i32,
    i64,
    numbers,
    scalar,
    strings,
    u8,
)

X = numbers(3, 4, 5)
VARIABLE = """
v = VarHandleOp() {dtype=float32, shape=(2,3)}
start = Const() {dtype=float32, value=float32(2,3)[1, 2, 3, 4, 5, 6]}
init = AssignVariableOp(v, start) {dtype=float32}
"""

CASES = [
    # TensorFlow looks at no index where there is nothing to pick; the engine does, and refuses
    case("GatherV2", numbers(0, 0), i32(0, -1), scalar(0), batch_dims=0, ways=("host",)),
    case("GatherV2", numbers(2, 0), i32(7), scalar(0), batch_dims=0, ways=("host",)),
    case("GatherV2", X, i32(2, 0, 2), scalar(0)),
    case("GatherV2", X, i64([1, 3], [0, 0]), scalar(1)),
    case("GatherV2", X, scalar(4), scalar(-1)),
    case("GatherV2", X, np.zeros((0, 2), np.int32), scalar(1)),
    case("GatherV2", numbers(0, 3), np.zeros(0, np.int32), scalar(0)),
    case("GatherV2", numbers(2, 0), i32(1), scalar(0)),
    case("GatherV2", X, i32([1], [3], [0]), scalar(1), batch_dims=1),
    case("GatherV2", X, i32([1, 0], [3, 3], [0, 2]), scalar(2), batch_dims=1),
    case("GatherV2", X, i32(1, 3, 0), scalar(1), batch_dims=1),
    case("GatherV2", X, i32(1, 3, 0), scalar(2), batch_dims=1),
    case("GatherV2", X, numbers(3, 4, 2, kind=np.int32, low=0, high=5), scalar(2), batch_dims=2),
    case("GatherV2", X, numbers(3, 4, 2, kind=np.int32, low=0, high=5), scalar(2), batch_dims=-1),
    case("GatherV2", numbers(2, 3, 4, 2), i64([[1, 3, 0]], [[2, 2, 1]]), scalar(2), batch_dims=1),
    case("GatherV2", strings("a", "b"), i32([1], [0]), scalar(0)),
    case("GatherV2", strings(["a", "b"], ["c", "d"]), i32([1], [0]), scalar(1), batch_dims=1),
    case("GatherV2", boolean(True, False), i32(1), scalar(0)),
    case("GatherV2", c64(1, 2j), i32(1), scalar(0)),
    case("GatherV2", bf16(1, 2), i32(1), scalar(0)),
    case("GatherV2", f16(1, 2), i32(1), scalar(0)),
    case("GatherV2", i8(1, 2), i32(1), scalar(0)),
    case("GatherV2", i32(5, 6, 7), i32(1), scalar(0)),
    case("GatherV2", X, i32(-1), scalar(0), fails=True),
    case("GatherV2", X, i64(-1), scalar(1), fails=True),
    case("GatherV2", X, i64(4), scalar(1), fails=True),
    case("GatherV2", X, i32(-(2**31)), scalar(0), fails=True),
    case("GatherV2", X, i64(-(2**63)), scalar(0), fails=True),
    case("GatherV2", X, i32([1], [-(2**31)], [0]), scalar(1), batch_dims=1, fails=True),
    case("GatherV2", X, i32(0), scalar(3), fails=True),
    case("GatherV2", X, i32([1], [-3], [0]), scalar(1), batch_dims=1, fails=True),
    case("GatherV2", X, i32([1], [4], [0]), scalar(1), batch_dims=1, fails=True),
    case("GatherV2", X, i32([1], [0]), scalar(1), batch_dims=1, fails=True),
    case("Gather", X, i32([2, 0]), validate_indices=True),
    case("Gather", X, i32(3), fails=True),
    case("Gather", X, i64(-1), fails=True),
    case("GatherNd", X, i32([0, 1], [2, 3])),
    case("GatherNd", X, i64([[0], [2]])),
    case("GatherNd", X, i32([0, 1, 4])),
    case("GatherNd", X, i32(1, 2)),
    case("GatherNd", X, np.zeros((2, 0), np.int32)),
    case("GatherNd", X, np.zeros((0, 2), np.int32)),
    case("GatherNd", numbers(2, 0), i32([1], [0]), fails=True, ways=("host",)),
    case("GatherNd", numbers(2, 0), np.zeros((0, 1), np.int32)),
    case("GatherNd", strings("a", "b"), i32([1])),
    case("GatherNd", u8(1, 2), i16([1])),
    case("GatherNd", X, i32([0, 1], [5, 5]), bad_indices_policy="IGNORE"),
    case("GatherNd", strings("a", "b"), i32([1], [2]), bad_indices_policy="IGNORE"),
    case("GatherNd", X, i32([0, -1]), fails=True),
    case("GatherNd", X, i32([0, -(2**31)]), fails=True),
    case("GatherNd", X, i32([0, 4]), fails=True),
    case("GatherNd", X, i32([0, 1, 2, 0]), fails=True),
    case("Where", boolean([True, False, True], [False, False, True])),
    case("Where", numbers(2, 2, 2) > 0),
    case("Where", np.array([np.nan, 0, -0.0, 1], np.float32)),
    case("Where", i8(0, 3)),
    case("Where", numbers(3, kind=np.float64)),
    case("Where", np.array([np.nan, 0, 1e-300], np.float64)),
    case("Where", bf16(0, 3)),
    case("Where", c64(0, 1j)),
    case("Where", np.zeros((0, 3), bool)),
    case("Where", np.array(True), fails=True),
    case("DynamicPartition", numbers(4, 2), i32(0, 2, 0, 1), num_partitions=3),
    case("DynamicPartition", numbers(2, 2, 3), i32([0, 1], [1, 3]), num_partitions=4),
    case("DynamicPartition", strings("a", "b"), i32(1, 0), num_partitions=2),
    case("DynamicPartition", numbers(0, 2), np.zeros(0, np.int32), num_partitions=2),
    case("DynamicPartition", numbers(2), i32(0, 2), num_partitions=2, fails=True),
    case("DynamicPartition", numbers(2), i32(0, -1), num_partitions=2, fails=True),
    case("DynamicStitch", [i32(0, 4), i32([1], [2])], [numbers(2, 3), numbers(2, 1, 3)]),
    case("DynamicStitch", [i32(0, 1)], [numbers(2, 0)]),
    case("DynamicStitch", [i32(0, 1), i32(1)], [numbers(2), numbers(1, seed=5)]),
    case("DynamicStitch", [i32(0), i32(3)], [strings("a"), strings("b")], ways=("engine",)),
    case("DynamicStitch", [scalar(1), scalar(0)], [numbers(), numbers(seed=1)]),
    case("DynamicStitch", [np.zeros(0, np.int32)], [numbers(0, 2)]),
    case("DynamicStitch", [i32(0, -1)], [numbers(2)], fails=True),
    case("DynamicStitch", [i32(0, 1)], [numbers(3)], fails=True),
    case("ParallelDynamicStitch", [i32(0, 1), i32(2)], [numbers(2), numbers(1)]),
    graph_case(
        VARIABLE + """
i = Const(^init) {dtype=int32, value=int32(2,)[1, 0]}
y = ResourceGather(v, i) {dtype=float32, Tindices=int32}
j = Const(^init) {dtype=int32, value=int32(2,1)[1, 2]}
z = ResourceGather(v, j) {dtype=float32, Tindices=int32, batch_dims=1}
n = Const(^init) {dtype=int64, value=int64(1,2)[1, 2]}
w = ResourceGatherNd(v, n) {dtype=float32, Tindices=int64}
""",
        fetches=["y:0", "z:0", "w:0"],
    ),
    graph_case(
        VARIABLE + """
i = Const(^init) {dtype=int32, value=int32(1,)[-1]}
y = ResourceGather(v, i) {dtype=float32, Tindices=int32}
""",
        fetches="y:0",
        fails=True,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_gathering(c, ways):
    check("gathering", c, ways)
