"""What host steps wait for is computed on the host if it is little; layers beside it stay in an island."""

import numpy as np
import pytest
from tests.runtime.programs import islands_of, session_of

from tfport.runtime.engines.no_engine import NoEngine

TEXT = """
    x = Placeholder() {dtype=float32, shape=(?, 1)}
    words = Placeholder() {dtype=string, shape=(?)}
    axis = Const() {dtype=int32, value=int32()[1]}
    limit = Const() {dtype=int64, value=int64()[4]}
    zero = Const() {dtype=int64, value=int64()[0]}
    flat = Const() {dtype=int32, value=int32(2)[1, -1]}
    limits = Const() {dtype=float32, value=float32(1, 3)[0, 1, 2]}
    weights = Const() {dtype=float32, value=float32(1, 2)[1, -1]}
    table = Const() {dtype=float32, value=float32(5, 1)[0.5, 1.5, 2.5, 3.5, 4.5]}
    hashed = StringToHashBucketFast(words) {num_buckets=9}
    large = GreaterEqual(hashed, limit) {T=int64}
    less = Sub(hashed, limit) {T=int64}
    id = SelectV2(large, less, hashed) {T=int64}
    text = AsString(id) {T=int64, fill="", precision=-1, scientific=false, shortest=false, width=-1}
    row = Reshape(x, flat) {T=float32, Tshape=int32}
    at = UpperBound(limits, row) {T=float32, out_type=int64}
    hidden = MatMul(x, weights) {T=float32, transpose_a=false, transpose_b=false}
    active = Relu(hidden) {T=float32}
    back = Const() {dtype=int32, value=int32(1)[-1]}
    places = Reshape(at, back) {T=int64, Tshape=int32}
    rows = GatherV2(table, places, zero) {Tparams=float32, Tindices=int64, Taxis=int64, batch_dims=0}
    y = AddV2(active, rows) {T=float32}
"""
FEEDS = {"x:0": np.float32([[0.5], [-1], [7]]), "words:0": np.array([b"a", b"", b"word"], object)}


def test_one_island_has_the_layers_and_what_follows_the_host_steps():
    (island,) = islands_of(TEXT, ["y:0", "text:0"], ["x:0", "words:0"])
    ops = [node.op_type for node in island.graph.node]
    assert {"MatMul", "Relu", "Add"} <= set(ops)
    assert "Where" not in ops  # a host step reads it


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_the_answers(rows):
    feeds = {name: array[:rows] for name, array in FEEDS.items()}
    y, text = session_of(TEXT).run(["y:0", "text:0"], feeds)
    on_host, on_host_text = session_of(TEXT, engine=NoEngine()).run(["y:0", "text:0"], feeds)
    assert y.tolist() == on_host.tolist() == [[2.0, 1.5], [0.5, 1.5], [10.5, 3.5]][:rows]
    assert y.shape == (rows, 2)
    assert text.tolist() == on_host_text.tolist()


def test_arithmetic_on_floats_stays_in_the_engine():
    text = (
        TEXT
        + """
    squared = Mul(x, x) {T=float32}
    other_row = Reshape(squared, flat) {T=float32, Tshape=int32}
    other = UpperBound(limits, other_row) {T=float32, out_type=int64}
    """
    )
    first, *_ = islands_of(text, ["y:0", "other:0"], ["x:0", "words:0"])
    assert "Mul" in [node.op_type for node in first.graph.node]


COPIES = """
    words = Placeholder() {dtype=string, shape=(?)}
    axis = Const() {dtype=int32, value=int32()[0]}
    around = Const() {dtype=int32, value=int32(2, 2)[1, 2, 0, 1]}
    table = Const() {dtype=float32, value=float32(3, 2)[0.5, 1.5, 2.5, 3.5, 4.5, 5.5]}
    hashed = StringToHashBucketFast(words) {num_buckets=3}
    rows = GatherV2(table, hashed, axis) {Tparams=float32, Tindices=int64, Taxis=int32, batch_dims=0}
    padded = Pad(rows, around) {T=float32, Tpaddings=int32}
    twice = ConcatV2(padded, rows_and_zeros, axis) {T=float32, N=2, Tidx=int32}
    rows_and_zeros = Pad(rows, around) {T=float32, Tpaddings=int32}
"""


def test_an_island_that_only_copies_runs_on_the_host():
    assert not islands_of(COPIES, ["twice:0"], ["words:0"])
    calculating = COPIES + "sum = AddV2(twice, twice) {T=float32}\n"
    (island,) = islands_of(calculating, ["sum:0"], ["words:0"])
    assert {"Gather", "Pad", "Concat"} <= {node.op_type for node in island.graph.node}


def test_the_answers_of_copies():
    (twice,) = session_of(COPIES).run(["twice:0"], {"words:0": np.array([b"a"], object)})
    row = twice[1].tolist()
    assert row in ([0.5, 1.5, 0], [2.5, 3.5, 0], [4.5, 5.5, 0])
    assert twice.tolist() == [[0, 0, 0], row, [0, 0, 0], [0, 0, 0]] * 2
