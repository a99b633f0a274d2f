"""Ops with dtypes without a kernel on the target; exact rules keep every bit, also on overflow."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import answers, assert_refuses, check, rewritten, rule_case
from tests.runtime.cases import numbers

from tfport.fix.rules.general.dtypes import in_a_wider_type, in_longer_floats, in_shorter_floats

OLD, MIDDLE = "tensorflow==1.4.1", "tensorflow==2.3.4"
BYTES = np.arange(-128, 128).astype(np.int8)
ROW, COLUMN = BYTES[None, ::3], np.array([-128, -77, -3, -1, 1, 2, 5, 127], np.int8)[:, None]
EDGES = np.array([[0.0, -0.0, 1.5, -2.25], [np.inf, -np.inf, np.nan, 3e4]])


def exact(text, target=OLD, **fed):
    return rule_case(in_a_wider_type, text, target=target, **fed)


def rounding(text, **fed):
    """Of eight digits of a bfloat16 the last may differ, of eleven of a half too."""
    return rule_case(in_longer_floats, text, target=OLD, rtol=2**-7, atol=2**-7, **fed)


def short(array):
    return np.asarray(array).astype(ml_dtypes.bfloat16)


def ends(kind):
    limits = np.iinfo(kind)
    return np.array([limits.min, limits.min + 1, 0, 1, 2, 3, limits.max - 1, limits.max], kind)


CASES = [
    *(exact(f"y = {op}(a, b) {{T=int8}}", a=ROW, b=COLUMN)
      for op in ("Maximum", "Minimum", "Div", "FloorDiv", "FloorMod", "TruncateDiv")),
    *(exact(f"y = {op}(a) {{T=int8}}", a=BYTES) for op in ("Abs", "Neg", "Sign", "Square")),
    *(exact(f"y = {op}(a, b) {{T=uint16}}", a=ends(np.uint16)[None], b=ends(np.uint16)[:, None])
      for op in ("Maximum", "Less", "GreaterEqual", "Equal", "NotEqual")),
    *(exact(f"y = {op}(a, b) {{T=uint64}}", MIDDLE, a=ends(np.uint64)[None], b=ends(np.uint64)[:, None])
      for op in ("AddV2", "Sub", "Mul")),
    *(exact(f"y = {op}(a, b) {{T=uint32}}", MIDDLE, a=ends(np.uint32)[None], b=ends(np.uint32)[3:, None])
      for op in ("FloorDiv", "FloorMod", "Mul", "Less", "GreaterEqual")),
    *(exact(f"y = {op}(a, i) {{T=uint32, Tidx=int32}}", MIDDLE, a=array, i=np.array([1], np.int32))
      for op in ("Sum", "Prod", "Max", "Min")
      for array in (ends(np.uint32).reshape(2, 4), np.zeros((2, 0), np.uint32))),
    exact("y = ReverseV2(a, i) {T=uint64, Tidx=int32}", MIDDLE, a=ends(np.uint64), i=np.array([0], np.int32)),
    exact("y = Pack(a, a) {T=uint32, N=2, axis=1}", MIDDLE, a=ends(np.uint32)),
    exact("y = Sum(a, i) {T=float32, Tidx=int64}", a=numbers(3, 4), i=np.array([-1]), constants=("i",)),
    exact("y = Tile(a, i) {T=float32, Tmultiples=int64}",
          a=numbers(3, 4), i=np.array([2, 1]), constants=("i",)),
    exact("y = ExpandDims(a, i) {T=float32, Tdim=int64}", a=numbers(3), i=np.array(0), constants=("i",)),
    exact("y = Fill(s, a) {T=float32, index_type=int64}",
          s=np.array([2, 3]), a=np.float32(2), constants=("s",)),
    exact("s = Shape(x) {T=float32, out_type=int64}\ny = Fill(s, a) {T=float32, index_type=int64}",
          x=numbers(2, 3), a=np.float32(2), open=("x",)),
    exact("y = GatherV2(a, i, z) {Tparams=float32, Tindices=int16, Taxis=int32}",
          a=numbers(4, 2), i=np.array([3, 0], np.int16), z=np.int32(0), constants=("z",)),
    exact("y = ArgMax(a, z) {T=float32, Tidx=int32, output_type=int16}",
          a=numbers(4, 9), z=np.int32(1), constants=("z",)),
    exact("y = ArgMax(a, z) {T=bool, Tidx=int32}", a=numbers(4, 9) > 0, z=np.int32(1), constants=("z",)),
    exact("y = OneHot(i, d, a, b) {T=float32, TI=int8}", i=np.array([0, 2, -1], np.int8), d=np.int32(3),
          a=np.float32(1), b=np.float32(0)),
    exact("y = ListDiff(a, b) {T=int32, out_idx=int64}", fetches=["y:0", "y:1"],
          a=np.arange(9, dtype=np.int32), b=np.array([1, 7], np.int32)),
    exact("y = InvertPermutation(a) {T=int64}", a=np.array([2, 0, 1]), constants=("a",)),
    *(exact(f"y = {op}(a, b) {{T=bfloat16}}", a=short(EDGES), b=short(EDGES[::-1]))
      for op in ("Maximum", "Minimum", "Equal", "NotEqual", "Less", "GreaterEqual")),
    *(exact(f"y = {op}(a) {{T=bfloat16}}", a=short(EDGES))
      for op in ("Relu", "Relu6", "ZerosLike", "OnesLike")),
    exact("y = Pad(a, p) {T=bfloat16, Tpaddings=int32}", a=short(EDGES), p=np.ones((2, 2), np.int32)),
    exact("y = Max(a, i) {T=bfloat16, Tidx=int32}", a=short(numbers(3, 0)), i=np.array([1], np.int32)),
    exact("y = ResizeBilinear(a, s) {T=bfloat16}",
          a=short(numbers(1, 3, 4, 2)), s=np.array([5, 7], np.int32)),
    exact("y = Diag(a) {T=float16}", a=EDGES[0].astype(np.float16)),
    exact("y = TopKV2(a, k) {T=bfloat16}", a=short(numbers(3, 5)), k=np.int32(2), constants=("k",),
          fetches=["y:0", "y:1"]),
    exact("y = Cast(a) {SrcT=bfloat16, DstT=float16}", a=short(EDGES)),
    exact("y = Cast(a) {SrcT=bfloat16, DstT=int32}", a=short(numbers(3, 4) * 100)),
    exact("y = Cast(a) {SrcT=bfloat16, DstT=bool}", a=short([0, -0.0, 0.5])),
    rounding("y = Cast(a) {SrcT=float64, DstT=bfloat16}", a=EDGES),
    rounding("y = Cast(a) {SrcT=int32, DstT=bfloat16}", a=np.array([1, -257, 65537], np.int32)),
    *(rounding(f"y = {op}(a, b) {{T=bfloat16}}", a=short(numbers(3, 4)), b=short(numbers(3, 4, seed=1)))
      for op in ("Add", "Mul", "Sub", "RealDiv", "SquaredDifference")),
    *(rounding(f"y = {op}(a) {{T=bfloat16}}", a=short(numbers(3, 4)))
      for op in ("Tanh", "Exp", "Sigmoid", "Softmax")),
    rounding("y = MatMul(a, b) {T=bfloat16, transpose_b=true}",
          a=short(numbers(3, 4)), b=short(numbers(5, 4))),
    rounding("y = FloorMod(a, b) {T=float16}",
             a=numbers(3, 4).astype(np.float16), b=np.full((3, 4), 0.75, np.float16)),
    rounding("y = Sum(a, i) {T=bfloat16, Tidx=int32}", a=short(numbers(3, 4)), i=np.array([1], np.int32)),
    rounding("y = BiasAdd(a, b) {T=bfloat16}", a=short(numbers(3, 4)), b=short(numbers(4))),
    rule_case(in_shorter_floats, "y = FFT(a) {Tcomplex=complex128}", a=numbers(4, 8).astype(np.complex128),
              target=OLD, rtol=1e-5, atol=1e-5),
    rule_case(in_shorter_floats, 'y = Conv2D(a, f) {T=float64, strides=[1, 1, 1, 1], padding="SAME"}',
              a=numbers(1, 5, 5, 2).astype(np.float64), f=numbers(3, 3, 2, 4).astype(np.float64),
              target=OLD, rtol=1e-5, atol=1e-5),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize(
    ("rule", "text", "because", "target"),
    [
        (in_a_wider_type, "y = Maximum(a, b) {T=uint32}", "the target does not know the dtype uint32", OLD),
        (
            in_a_wider_type,
            "y = AddV2(a, b) {T=uint32}",
            "the target does not register the op in any dtype",
            OLD,
        ),
        (in_longer_floats, "y = Maximum(a, b) {T=uint32}", "must be computed exactly", OLD),
        (in_longer_floats, "y = Bitcast(a) {T=uint32, type=float32}", "depends on the dtype", OLD),
        (in_shorter_floats, "y = Mul(a, b) {T=uint32}", "no kernel for another suitable dtype", MIDDLE),
    ],
)
def test_what_no_other_type_does_stays(rule, text, because, target):
    fed = {"a": ends(np.uint32), "b": ends(np.uint32)}
    assert_refuses(rule, text, because=because, target=target, **fed)


def test_places_that_may_not_fit_stay():
    assert_refuses(
        in_a_wider_type, "y = Sum(a, i) {T=float32, Tidx=int64}", target=OLD,
        because="its reduction_indices is int64 and may exceed int32",
        a=numbers(2, 3), i=np.array([0]),
    )  # fmt: skip


@pytest.mark.parametrize("target", [OLD, "tensorflow==1.15.5"])
def test_short_floats_reach_the_oldest(target):
    c = chain_case(
        """
        p = MatMul(x, w) {T=bfloat16}
        s = AddV2(p, p) {T=bfloat16}
        r = Relu(s) {T=bfloat16}
        y = Cast(r) {SrcT=bfloat16, DstT=float32}
        """,
        x=short(numbers(3, 4)), w=short(numbers(4, 2)), rtol=2**-6, atol=2**-6,
    )  # fmt: skip
    check_chain(c, target)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["Maximum", "Minimum", "FloorDiv", "FloorMod", "TruncateDiv"]),
    st.lists(st.tuples(st.integers(-128, 127), st.integers(-128, 127).filter(bool)), max_size=20),
)
def test_any_bytes_answer_as_before(op, pairs):
    a, b = np.array(pairs, np.int8).reshape(-1, 2).T
    check(exact(f"y = {op}(a, b) {{T=int8}}", a=a, b=b))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["AddV2", "Sub", "Mul"]),
    st.lists(st.tuples(*[st.integers(0, 2**64 - 1)] * 2), min_size=1, max_size=20),
)
def test_what_runs_over_is_cut_off(op, pairs):
    a, b = np.array(pairs, np.uint64).T
    with np.errstate(over="ignore"):
        expected = {"AddV2": np.add, "Sub": np.subtract, "Mul": np.multiply}[op](a, b)
    c = exact(f"y = {op}(a, b) {{T=uint64}}", MIDDLE, a=a, b=b)
    (actual,) = answers(rewritten(c), c)
    assert actual.tolist() == expected.tolist()
