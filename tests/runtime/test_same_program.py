"""Which rewritten graphs are the same program, and which only look like it."""

from __future__ import annotations

import pytest
from tests.runtime.programs import session_of

from tfport.runtime.same_program import compute_the_same

X = "x = Placeholder() {dtype=float32, shape=(?, 3)}\n"
TWO = "two = Const() {dtype=float32, value=float32()[2]}\n"
TWICE = X + TWO + "y = Mul(x, two) {T=float32}"
RAISED = X + TWO + "m = Mul(x, two) {T=float32}\nt = Tanh(m) {T=float32}\ny = Sub(t, x) {T=float32}"
HOSTED = (
    "x = Placeholder() {dtype=string, shape=(?)}\ny = RegexReplace(x, p, r) {replace_global=true}\n"
    'p = Const() {dtype=string, value=string()["a+"]}\nr = Const() {dtype=string, value=string()["b"]}'
)
DRAWN = (
    X + "s = Shape(x) {T=float32}\nu = RandomUniform(s) {T=int32, dtype=float32, seed=1, seed2=2}\n"
    "y = Add(x, u) {T=float32}"
)

LOOP = """
    x = Placeholder() {dtype=float32, shape=(?, 3)}
    zero = Const() {dtype=int32, value=int32()[0]}
    w = While(zero, x) {T=[int32, float32], cond=@go, body=@turn, output_shapes=[(), (?, 3)]}
    y = Identity(w:1) {T=float32}
    def go(i: int32, x: float32) -> (r: bool):
      n = Const() {dtype=int32, value=int32()[3]}
      c = Less(i, n) {T=int32}
      return r=c
    def turn(i: int32, x: float32) -> (i1: int32, x1: float32):
      one = Const() {dtype=int32, value=int32()[1]}
      j = AddV2(i, one) {T=int32}
      m = Tanh(x) {T=float32}
      return i1=j, x1=m
"""

PAIRS = [  # what, before, after, whether they are the same
    ("other names", TWICE, TWICE.replace("two", "factor"), True),
    ("an attribute that means nothing", TWICE, TWICE.replace("{T=float32}", "{T=float32, _class=[]}"), True),
    ("another op, the same node", X + "y = Add(x, x) {T=float32}", X + "y = AddV2(x, x) {T=float32}", True),
    ("another constant", TWICE, TWICE.replace("[2]", "[2.0000002]"), False),
    ("a negative zero", TWICE.replace("[2]", "[0.0]"), TWICE.replace("[2]", "[-0.0]"), False),
    ("another op", RAISED, RAISED.replace("Tanh", "Sigmoid"), False),
    ("inputs in another order", RAISED, RAISED.replace("Sub(t, x)", "Sub(x, t)"), False),
    ("a step more", TWICE, TWICE.replace("y =", "m =") + "\ny = Tanh(m) {T=float32}", False),
    ("on the host", HOSTED, HOSTED, True),
    ("on the host, another attribute", HOSTED, HOSTED.replace("true", "false"), False),
    ("on the host, another constant", HOSTED, HOSTED.replace("a+", "a"), False),
    ("a loop", LOOP, LOOP.replace("@turn", "@next").replace("def turn", "def next"), True),
    ("a loop, another body", LOOP, LOOP.replace("Tanh", "Sigmoid"), False),
    ("a loop, more turns", LOOP, LOOP.replace("[3]", "[4]"), False),
    ("random numbers", DRAWN, DRAWN, False),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "same"), [p[1:] for p in PAIRS], ids=[p[0] for p in PAIRS])
def test_programs(before, after, same):
    first, second = (session_of(text).program(["y:0"], ["x:0"]) for text in (before, after))
    assert compute_the_same(first, second) is same
