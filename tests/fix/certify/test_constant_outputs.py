"""A certificate says which outputs never vary, as their comparison shows little."""

from __future__ import annotations

import pytest
from tests.fix.certify.models import frozen

from tfport.fix.certify.verify import verify

X = "x = Placeholder() {dtype=float32, shape=(?, 3)}\n"
ZERO = "zero = Const() {dtype=float32, value=float32()[0]}\n"
CASES = [  # model, words of the caveat; none if it varies
    (X + "y = Neg(x) {T=float32}", ""),
    (X + "y = ZerosLike(x) {T=float32}", "graph: y never varied"),
    (X + ZERO + "y = Mul(x, zero) {T=float32}", "graph: y never varied"),
    (X + "y = Shape(x) {T=float32, out_type=int32}", "the same for all inputs of a size"),
    (X + ZERO + "g = Greater(x, zero) {T=float32}\ny = Where(g) {T=bool}", ""),
    (X + ZERO + "l = IsNan(x) {T=float32}\ny = Where(l) {T=bool}", "y was empty for all"),
    (X + ZERO + "z = Mul(x, zero) {T=float32}\ny = RealDiv(z, z) {T=float32}", "y was NaN for all"),
    (X + "t = Tanh(x) {T=float32}\nn = Const() {dtype=float32, value=float32()[1e-9]}\n"
     "o = Const() {dtype=float32, value=float32()[1]}\ns = Mul(t, n) {T=float32}\ny = Add(s, o) {T=float32}",
     "graph: y never varied"),
    ("y = Const() {dtype=float32, value=float32()[0]}", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), CASES)
def test_an_output_that_never_varies_is_a_caveat(text, words):
    verification = verify(frozen(text), frozen(text), fetches=["y"])
    assert verification.verdict == "alike"
    caveats = [caveat for caveat in verification.caveats if ": y " in caveat]
    assert bool(caveats) == bool(words), caveats
    assert all(words in caveat for caveat in caveats)
