"""Sizes, axes and indices in int32."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, i32, i64, numbers, strings

from tfport.fix.rules.general.dtypes import places_in_int32, shapes_in_int32


def place(text, **options):
    return rule_case(places_in_int32, f"y = {text}", **options)


X = numbers(2, 3)
CASES = [
    place("Tile(x, m) {T=float32, Tmultiples=int64}", x=X, m=i64(2, 1)),
    place("Transpose(x, p) {T=string, Tperm=int64}", x=strings(["a", "b"]), p=i64(1, 0), open=("x",)),
    place("Sum(x, a) {T=float32, Tidx=int64, keep_dims=true}", x=X, a=i64(-1)),
    place("ConcatV2(x, z, a) {T=float32, N=2, Tidx=int64}", x=X, z=X, a=np.int64(1)),
    place("ExpandDims(x, a) {T=float32, Tdim=int64}", x=X, a=np.int64(-2)),
    place("Cumsum(x, a) {T=float32, Tidx=int64, reverse=true}", x=X, a=np.int64(0)),
    place("Fill(d, v) {T=float32, index_type=int64}", d=i64(2, 0), v=np.float32(1)),
    place("Pad(x, p) {T=float32, Tpaddings=int64}", x=X, p=i64([1, 0], [0, 1])),
    place("MirrorPad(x, p) {T=float32, Tpaddings=int64, mode=\"REFLECT\"}", x=X, p=i64([1, 0], [0, 1])),
    place("UnsortedSegmentSum(x, s, n) {T=float32, Tindices=int64, Tnumsegments=int64}", x=X, s=i64(1, 1),
          n=np.int64(3)),
    place("SparseSegmentSum(x, i, s) {T=float32, Tidx=int64, Tsegmentids=int64}", x=X, i=i64(1, 1),
          s=i64(0, 0)),
    place("ScatterNd(i, u, s) {T=float32, Tindices=int64}", i=i64([1]), u=f32(2), s=i64(3)),
    place("StridedSlice(x, b, e, s) {T=float32, Index=int64, end_mask=2}", x=X, b=i64(0, 1), e=i64(1, 0),
          s=i64(1, 1)),
    *(place("StridedSlice(x, b, e, s) {T=float32, Index=int64}", x=X, b=i64(0, 1), e=i64(2**63 - 1, 2**40),
            s=i64(1, 1), constants=known) for known in ((), ("e",))),
    place("StridedSlice(x, b, e, s) {T=float32, Index=int64}", x=X, b=i64(2**40), e=i64(-(2**63)), s=i64(-1)),
    rule_case(shapes_in_int32, "y = BroadcastArgs(a, b) {T=int64}", a=i64(2, 1), b=i64(3)),
    rule_case(shapes_in_int32, "y = BroadcastGradientArgs(a, b) {T=int64}", fetches=["y:0", "y:1"],
              a=i64(2, 1), b=i64(3)),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, fetches=c.fetches, open=c.open, **c.feeds))


def test_refuses():
    assert_refuses(places_in_int32, "y = Tile(x, m) {T=float32}", because="not int64", x=X, m=i32(1, 1))
    assert_refuses(
        shapes_in_int32, "y = BroadcastArgs(a, b) {T=int32}", because="shapes are int32", a=i32(1), b=i32(1)
    )
