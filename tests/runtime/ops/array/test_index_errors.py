"""Indices that are negative or too large: the errors are TensorFlow's, on the host and in islands."""

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, f32, graph_case, i32, i64, numbers, scalar

MATRIX, LARGEST = numbers(4, 3), 2**31 - 1

EMBEDDED = """
    ids = Placeholder() {dtype=int32, shape=(?, ?)}
    sizes = Const() {dtype=int32, value=int32(2,)[7, 16]}
    half = Const() {dtype=float32, value=float32()[0.5]}
    table = Fill(sizes, half) {T=float32, index_type=int32}
    axis = Const() {dtype=int32, value=int32()[0]}
    rows = GatherV2(table, ids, axis) {Tparams=float32, Tindices=int32, Taxis=int32}
    across = Const() {dtype=int32, value=int32()[1]}
    mean = Mean(rows, across) {T=float32, Tidx=int32}
    square = Const() {dtype=int32, value=int32(2,)[16, 16]}
    weights = Fill(square, half) {T=float32, index_type=int32}
    product = MatMul(mean, weights) {T=float32}
    y = Softmax(product) {T=float32}
"""


def _cases(kind, bad):
    """Ops with one bad index."""
    vector, square = np.array([0, bad], kind), np.array([[0, 1], [bad, 1]], kind)
    column, pairs = np.array([[0], [bad]], kind), np.array([[[0, 1], [1, bad]]], kind)
    yield case("GatherV2", MATRIX, vector, scalar(0), says=True)
    yield case("GatherV2", MATRIX, square, scalar(0), says=True)
    yield case("GatherV2", numbers(3, 4), vector, scalar(1), says=True)
    yield case("GatherV2", numbers(2, 4, 3), square, scalar(1), batch_dims=1, says=True)
    yield case("Gather", MATRIX, square, says=True)
    yield case("GatherNd", MATRIX, column, says=True)
    yield case("GatherNd", numbers(4, 5), pairs, says=True)
    yield case("ScatterNd", column, numbers(2, 3), np.array([4, 3], kind), says=True)
    yield case("TensorScatterUpdate", MATRIX, column, numbers(2, 3), says=True)
    yield case("TensorScatterAdd", MATRIX, column, numbers(2, 3), says=True)
    yield case("SparseSegmentSum", MATRIX, vector, i32(0, 1), says=True)
    yield case("SparseSegmentMean", MATRIX, vector, i32(0, 1), says=True)
    yield case("SparseToDense", vector, np.array([4], kind), f32(1, 2), np.float32(0), says=True)
    yield case("SparseToDense", pairs[0], np.array([2, 4], kind), f32(1, 2), np.float32(0), says=True)
    yield case("Slice", MATRIX, np.array([bad, 0], kind), np.array([1, 3], kind), says=True)
    yield case("ReverseSequence", numbers(2, 4), np.array([1, bad], kind), seq_dim=1, batch_dim=0, says=True)
    yield case("OneHot", vector, scalar(4), np.float32(1), np.float32(0))
    if bad > 0:
        yield case("UnsortedSegmentSum", numbers(2, 3), vector, scalar(4), says=True)
        yield case("UnsortedSegmentMax", numbers(2, 3), vector, scalar(4), says=True)
        yield case("Cumsum", MATRIX, np.array(bad, kind), says=True)
        begin, ones = np.array([bad], kind), np.array([1], kind)
        yield case("StridedSlice", MATRIX, begin, ones, ones, shrink_axis_mask=1, says=True)
    else:
        yield case("UnsortedSegmentSum", numbers(2, 3), vector, scalar(4))
        yield case("SegmentSum", numbers(2, 3), np.array([bad, 0], kind), says=True)


CASES = [
    *(c for kind in (np.int32, np.int64) for bad in (-1, 5, LARGEST) for c in _cases(kind, bad)),
    *(
        case("DynamicPartition", numbers(2, 3), i32(0, bad), num_partitions=4, says=True)
        for bad in (-1, 5, LARGEST)
    ),
    case("UnsortedSegmentSum", numbers(4, 3), i32(-1, 0, -2, 7), scalar(4), says=True),
    case("UnsortedSegmentSum", numbers(2, 3), i64(-1, -5), scalar(0)),
    *(
        graph_case(EMBEDDED, fetches="y:0", name="embedded", ids=i32([0, 1], [2, bad]), says=True)
        for bad in (-1, 7, LARGEST)
    ),
    graph_case(EMBEDDED, fetches="y:0", name="embedded", ids=i32([0, 1], [2, 6])),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_index_errors(c, ways):
    check("index_errors", c, ways)
