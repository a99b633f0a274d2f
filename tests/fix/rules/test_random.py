"""Random numbers."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain, rewritten_for
from tests.fix.rule_cases import answers, apply, assert_refuses, check, rule_case
from tests.runtime.cases import i32, i64, numbers, scalar

from tfport.fix.rules.random import (
    drawn_in_int64,
    from_a_range_and_a_parity,
    from_the_seed,
    no_generator,
    other_numbers,
    other_numbers_for_a_key,
)

KEY = "k = StatelessRandomGetKeyCounter(s) {Tseed=%s}\n"
ALG = "g = StatelessRandomGetAlg()\n"
REAL = "y = Stateless%sV2(n, k, k:1, g) {dtype=%s, Tshape=int32}"
INT = "y = StatelessRandomUniformIntV2(n, k, k:1, g, lo, hi) {dtype=int32, Tshape=int32}"
FULL = "y = StatelessRandomUniformFullInt(n, s) {dtype=%s, Tseed=%s}"
N, NONE, S = i32(2, 3), i32(0, 3), i64(5, -7)
VARIABLE = """
    v = VarHandleOp() {dtype=int64, shape=(3,), shared_name="g"}
    s = AssignVariableOp(v, state) {dtype=int64}
    r = RngReadAndSkip(v, g, d, ^s)
"""
BOUNDS = {"lo": np.int32(-5), "hi": np.int32(100)}
CASES = [
    *[rule_case(from_the_seed, KEY % "int64" + ALG + REAL % (op, kind), n=N, s=S)
      for op, kind in (("RandomUniform", "float32"), ("RandomNormal", "float32"),
          ("TruncatedNormal", "float64"),
                       ("RandomUniform", "float16"), ("RandomUniformFullInt", "int32"))],
    rule_case(from_the_seed, KEY % "int32" + REAL % ("RandomUniform", "float32"), n=N, s=i32(5, -7),
              g=scalar(1),
              constants=("g",)),
    rule_case(from_the_seed, KEY % "int64" + INT, n=N, s=S, g=scalar(1), constants=("g",), **BOUNDS),
    *[rule_case(from_a_range_and_a_parity, FULL % (kind, "int64"), n=N, s=S)
      for kind in ("int32", "int64", "uint32", "uint64")],
    *[rule_case(from_a_range_and_a_parity, FULL % ("int32", "int32"), n=shape, s=i32(9, -1))
      for shape in (NONE, i32())],
    rule_case(drawn_in_int64, "y = Multinomial(x, n) {T=float32, output_dtype=int32, seed=3, seed2=4}",
              x=numbers(2, 5), n=scalar(6)),
    # of no numbers at all it can be said that they are the same
    rule_case(other_numbers, "y = StatelessRandomUniform(n, s) {dtype=float32}", n=NONE, s=S),
    rule_case(other_numbers, "y = StatelessRandomUniformInt(n, s, lo, hi) {dtype=int32, T=int32}",
              n=NONE, s=S, **BOUNDS),
    rule_case(other_numbers_for_a_key, KEY % "int64" + ALG + REAL % ("RandomNormal", "float64"), n=NONE, s=S),
    rule_case(no_generator, VARIABLE + "y = Shape(r) {T=int64}", target="tensorflow==2.0.0",
              d=np.array(6, np.uint64), state=i64(1, 2, 3), g=scalar(1), constants=("state", "g", "d")),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize(("because", "text", "alg"), [
    ("not Philox", KEY % "int64" + REAL % ("RandomUniform", "float32"), 2),
    ("directly from a seed", "k = IdentityN(s, s) {T=[int64, int64]}\na = Bitcast(k) {T=int64, type=uint64}\n"
     "y = StatelessRandomUniformV2(n, a, a, g) {dtype=float32}", 1),
])  # fmt: skip
def test_refuses(because, text, alg):
    assert_refuses(from_the_seed, text, because=because, n=N, s=S, g=scalar(alg), constants=("g",))


def test_an_algorithm_that_is_fed():
    text = KEY % "int64" + REAL % ("RandomUniform", "float32")
    assert_refuses(from_the_seed, text, because="algorithm is unknown", n=N, s=S, g=scalar(1))
    text = KEY % "int64" + ALG + REAL % ("RandomUniformFullInt", "int32")
    assert_refuses(other_numbers_for_a_key, text, because="full range of integers", n=N, s=S)
    inputs = {"d": np.array(6, np.uint64), "state": i64(1, 2, 3), "g": scalar(1), "constants": ("state",)}
    assert_refuses(no_generator, VARIABLE, because="by key and counter", **inputs)
    text = "y = Multinomial(x, n) {T=float32, output_dtype=int64}"
    assert_refuses(drawn_in_int64, text, because="int64 already", x=numbers(2, 5), n=scalar(6))


@pytest.mark.parametrize(("text", "made", "inputs"), [
    ("y = StatelessRandomUniform(n, s) {dtype=float32}", "RandomUniform", {}),
    ("y = StatelessRandomNormal(n, s) {dtype=float64}", "RandomStandardNormal", {}),
    ("y = StatelessTruncatedNormal(n, s) {dtype=float32}", "TruncatedNormal", {}),
    ("y = StatelessRandomUniformInt(n, s, lo, hi) {dtype=int32, T=int32}", "RandomUniformInt", BOUNDS),
])  # fmt: skip
def test_other_numbers_of_the_same_kind(text, made, inputs):
    c = rule_case(other_numbers, text, n=N, s=S, **inputs)
    model = c.model()
    (before,) = answers(model, c)
    assert apply(other_numbers, model) == [made]
    (after,) = answers(model, c)
    assert (after.dtype, after.shape) == (before.dtype, before.shape)


@pytest.mark.parametrize("c", CASES[:4], ids=str)
def test_unused_keys_are_removed(c):
    check_chain(chain_case(c.text, **c.feeds))


def test_a_generator_is_not_asked_where_other_numbers_do():
    text = (
        VARIABLE
        + """
    k = StridedSlice(r, two, three, one) {T=int64, Index=int32}
    u = Bitcast(k) {T=int64, type=uint64}
    c = StridedSlice(r, zero, two, one) {T=int64, Index=int32}
    w = Bitcast(c) {T=int64, type=uint64}
    y = StatelessRandomNormalV2(n, u, w, g) {dtype=float32}
    """
    )
    inputs = {"state": i64(1, 2, 3), "d": np.array(6, np.uint64), "g": scalar(1), "n": N}
    ends = {"zero": i32(0), "one": i32(1), "two": i32(2), "three": i32(3)}
    c = chain_case(text, **inputs, **ends, constants=("state", "g", "d", *ends))
    after = rewritten_for(c, "tensorflow==2.0.0", allow_lossy=True)
    assert "RngReadAndSkip" not in {node.op for node in after.graph}
    (drawn,) = answers(after, c)
    assert (drawn.shape, drawn.dtype) == ((2, 3), np.float32)


def test_bits_that_are_all_ones_are_drawn_too():
    c = rule_case(from_a_range_and_a_parity, FULL % ("int32", "int64"), n=i32(4), s=i64(400743068, 0))
    model = c.model()
    (before,) = answers(model, c)
    assert before[2] == -1
    apply(from_a_range_and_a_parity, model)
    (after,) = answers(model, c)
    assert after.tolist() == before.tolist()


def test_integers_of_a_seed_are_lost_on_the_oldest_target():
    c = chain_case("y = StatelessRandomUniformInt(n, s, lo, hi) {dtype=int32, T=int32}", n=N, s=S, **BOUNDS)
    (after,) = answers(rewritten_for(c, allow_lossy=True), c)
    assert after.shape == (2, 3)
    assert after.min() >= -5
    assert after.max() < 100
