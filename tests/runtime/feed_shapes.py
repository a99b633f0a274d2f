"""A graph, and shapes of feeds that its placeholder does not declare.

`test_feed_shapes.py` compares with a graph that declares them, `tests/live/test_feed_shapes.py` with
TensorFlow's C++ session, which does not look at declared shapes.
"""

from __future__ import annotations

import numpy as np

GRAPH = """
    x = Placeholder() {dtype=float32, shape=(?, 1)}
    half = Const() {dtype=float32, value=float32()[0.5]}
    two = Const() {dtype=float32, value=float32()[2]}
    zero_i = Const() {dtype=int32, value=int32()[0]}
    one_i = Const() {dtype=int32, value=int32()[1]}
    column = Const() {dtype=int32, value=int32(2)[-1, 1]}
    weights = Const() {dtype=float32, value=float32(1, 4)[1, 1, 1, 1]}
    three = Const() {dtype=float32, value=float32(3)[1, 1, 1]}
    begin = Const() {dtype=int32, value=int32(1)[1]}
    end = Const() {dtype=int32, value=int32(1)[2]}
    product = Mul(x, half) {T=float32, _output_shapes=[(?, 1)]}
    line = AddV2(product, two) {T=float32, _output_shapes=[(?, 1)]}
    shape = Shape(x) {T=float32, out_type=int32}
    width = StridedSlice(shape, begin, end, begin) {T=int32, Index=int32, shrink_axis_mask=1}
    rank = Rank(x) {T=float32}
    size = Size(x) {T=float32, out_type=int32}
    as_column = Reshape(x, column) {T=float32, Tshape=int32, _output_shapes=[(?, 1)]}
    same = Reshape(x, shape) {T=float32, Tshape=int32}
    squeezed = Squeeze(x) {T=float32}
    zeros = ZerosLike(x) {T=float32, _output_shapes=[(?, 1)]}
    rows = Sum(x, one_i) {T=float32, Tidx=int32, _output_shapes=[(?)]}
    twice = ConcatV2(x, x, one_i) {N=2, T=float32, Tidx=int32, _output_shapes=[(?, 2)]}
    deeper = ExpandDims(x, one_i) {T=float32, Tdim=int32}
    matrix = MatMul(x, weights) {T=float32, _output_shapes=[(?, 4)]}
    wide = AddV2(x, three) {T=float32, _output_shapes=[(?, 3)]}
    parts = Unpack(x) {num=1, T=float32, axis=1}
    checked = EnsureShape(x) {T=float32, shape=(?, 1)}
    transposed = Transpose(matrix, order) {T=float32, Tperm=int32}
    order = Const() {dtype=int32, value=int32(2)[1, 0]}
    softmax = Softmax(x) {T=float32, _output_shapes=[(?, 1)]}
    first = Max(line, zero_i) {T=float32, Tidx=int32, _output_shapes=[(1)]}
    total = Sum(line, axes) {T=float32, Tidx=int32}
    axes = Range(zero_i, rank, one_i) {Tidx=int32}
"""
FETCHES = [
    *("line", "shape", "width", "rank", "size", "as_column", "same", "squeezed", "zeros", "rows", "twice"),
    *("deeper", "matrix", "wide", "parts", "checked", "transposed", "first", "total"),
]
SHAPES = [(3,), (2, 2), (), (2, 1, 3), (3, 1), (0,), (0, 1)]


def value(shape: tuple[int, ...]) -> np.ndarray:
    """The value to feed."""
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
